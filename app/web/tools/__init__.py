"""The pages under /tools: each takes what is typed or pasted to a check of `app/domain/serving`."""
