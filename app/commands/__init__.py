"""The commands of `inferprice` by what they are about; `app.cli` puts them together."""
