"""Ask a server what a page on another site would ask it, and nothing more: preflights and a plain GET."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.serving.cors import Exchange, further_origin, judge_with
from app.domain.serving.cors_answer import Answer
from app.ingest.fetch import ask_for_headers
from app.ingest.fetched import FetchError

if TYPE_CHECKING:
    from app.domain.serving.cors import Asked, Verdict
    from app.ingest.fetched import Limits


def check_cors(asked: Asked, limits: Limits) -> Verdict:
    """Return what a server's answers mean for a page of the origin asked as.

    A closed server is asked as the origin null as well, one that echoes as another made-up origin, and as
    null where that one is not let in. Raises FetchError for a server that cannot be reached, is not who it
    says, or does not answer in time; once the first origin is let in, it is open whatever becomes of others.
    """
    first = _exchange(asked, limits)
    further: dict[str, Exchange | str] = {}
    while (origin := further_origin(first, further)) is not None:
        try:
            further[origin] = _exchange(asked.by(origin), limits)
        except FetchError as error:
            if not first.is_open:
                raise
            further[origin] = str(error)
    return judge_with(first, further)


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
