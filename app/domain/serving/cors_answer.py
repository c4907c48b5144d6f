"""One answer to the CORS check, as far as the check reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALLOW_ORIGIN: Final = "access-control-allow-origin"
ALLOW_HEADERS: Final = "access-control-allow-headers"
ALLOW_CREDENTIALS: Final = "access-control-allow-credentials"
_ACCESS_CONTROL: Final = "access-control-"
_LOCATION: Final = "location"
_LED_ON: Final = frozenset({301, 302, 303, 307, 308})
"""What the Fetch standard calls a redirect status; one without a location is an answer like any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status and headers of one answer: names in lower case, several of one name joined by a comma.

    `is_whole` is False for one that was pasted with lines left out, so that a header which is not there may
    have been there.
    """

    status: int
    headers: Mapping[str, str]
    is_whole: bool = True

    @property
    def is_good(self) -> bool:
        """Tell whether a browser takes the status for a success, as it must be of a preflight."""
        return 200 <= self.status < 300  # noqa: PLR2004 - what a browser calls ok

    @property
    def is_redirect(self) -> bool:
        """Tell whether a browser goes on from it to another address, whose answer then takes its place."""
        return self.status in _LED_ON and (_LOCATION in self.headers or not self.is_whole)

    @property
    def server(self) -> str:
        """The name that answered, in lower case and without its version; empty for none."""
        return self.headers.get("server", "").partition("/")[0].strip().lower()

    @property
    def allowed_origin(self) -> str:
        """The origin it lets in, empty for none."""
        return self.headers.get(ALLOW_ORIGIN, "").strip()

    def lets_in(self, origin: str) -> bool:
        """Tell whether its headers let a page of an origin in."""
        return self.allowed_origin in {"*", origin}

    def takes_credentials(self, origin: str) -> bool:
        """Tell whether they do so with cookies and logins; never beside a wildcard."""
        return self.allowed_origin == origin and self.headers.get(ALLOW_CREDENTIALS, "").strip() == "true"


def is_of_access(name: str) -> bool:
    """Tell whether a header, its name in lower case, says who is let in, or how."""
    return name.startswith(_ACCESS_CONTROL)


def allow_headers(answer: Answer) -> Sequence[tuple[str, str]]:
    """Return the headers of an answer that say who is let in, and how."""
    return [(name, value) for name, value in sorted(answer.headers.items()) if is_of_access(name)]
