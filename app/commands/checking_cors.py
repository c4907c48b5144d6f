"""`inferprice check cors`: whether a page on another site may use a server, by asking it as one would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.checking_shared import SHAPE, print_json, saying
from app.commands.shared import REFUSED_EXIT

if TYPE_CHECKING:
    from app.settings import Settings

CANNOT_TELL_EXIT = 2
"""Exit code of a check without a verdict, the same as for wrong words: either way nothing was found."""


@click.command()
@click.argument("url", metavar="URL")
@click.option("--origin", default=None, help="Ask as a page of this origin; a made-up one by default.")
@click.option(
    "--header", "names", multiple=True, help="A header of its POST beside content-type; repeatable."
)
@SHAPE
@click.pass_obj
@saying
def cors(settings: Settings, url: str, *, origin: str | None, names: tuple[str, ...], shape: str) -> None:
    """Ask URL what a page on another site would: the preflight of a JSON POST, and a GET that needs none.

    With --header the preflight is asked twice, for a POST without those headers and for one with them, as a
    page may leave them out; the worse of the two counts.

    A server that lets in nobody, or this origin by name, is asked as null and as another made-up origin, too.

    Ask the address that browsers use, not the server behind it. Exit code 0: closed; 3: open; 2: cannot tell,
    as for a redirect, a challenge or refusal of something in front, or a server that does not answer, or an
    option is wrong.
    """
    from app.domain.serving.cors import asked_of  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.documents import cors_document  # noqa: PLC0415 - same
    from app.ingest.cors import check_cors  # noqa: PLC0415 - same
    from app.ingest.fetch import limits_of  # noqa: PLC0415 - same
    from app.ingest.fetched import FetchError  # noqa: PLC0415 - same

    asked = asked_of(url, origin=origin, names=names)
    try:
        found = check_cors(asked, limits_of(settings))
    except FetchError as error:
        _print_no_answer(error, shape=shape)
        raise SystemExit(CANNOT_TELL_EXIT) from None
    if shape == "json":
        print_json(cors_document(found))
    else:
        click.echo("\n".join(found.sentences))
    if found.is_open is not False:
        raise SystemExit(REFUSED_EXIT if found.is_open else CANNOT_TELL_EXIT)


def _print_no_answer(error: Exception, *, shape: str) -> None:
    from app.domain.serving.cors import WORDS  # noqa: PLC0415 - keeps --help quick

    if shape == "json":
        print_json({"verdict": "cannot_tell", "is_open": None, "sentences": [str(error)]})
    else:
        click.echo(f"{WORDS['cannot_tell']}: {error}")
