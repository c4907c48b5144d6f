"""Ask a server what a page on another site would ask it, and nothing more: preflights and a plain GET."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.serving.cors import Exchange, further_origin, judge_with
from app.domain.serving.cors_answer import Answer
from app.ingest.fetch import ask_for_headers

if TYPE_CHECKING:
    from app.domain.serving.cors import Asked, Verdict
    from app.ingest.fetched import Limits


def check_cors(asked: Asked, limits: Limits) -> Verdict:
    """Return what a server's answers mean for a page of the origin asked as.

    A closed server is asked as the origin null as well, one that echoes as another made-up origin. Raises
    FetchError for a server that cannot be reached, is not who it says, or does not answer in time.
    """
    first = _exchange(asked, limits)
    origin = further_origin(first)
    return judge_with(first, None if origin is None else _exchange(asked.by(origin), limits))


def _exchange(asked: Asked, limits: Limits) -> Exchange:
    requests = asked.requests
    answers = ask_for_headers(asked.url, list(requests.values()), limits=limits)
    by_what = {
        what: Answer(status=status, headers=headers)
        for what, (status, headers) in zip(requests, answers, strict=True)
    }
    return Exchange(
        asked=asked,
        preflight=by_what["preflight"],
        plain=by_what["GET"],
        full=by_what.get("preflight with headers"),
    )
