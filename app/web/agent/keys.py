"""Finds and reads the keys that an issuer signs with: bounded, and without them nobody is let in."""

from __future__ import annotations

import http.client
import logging
import threading
import time
import urllib.request
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

import jwt
import orjson
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls

from app import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

LARGEST_DOCUMENT_BYTES: Final = 262_144
"""Bytes of metadata or of a set of keys; real ones have a few thousand."""

ANSWER_TIMEOUT_S: Final = 5
"""Seconds that one answer may keep silent."""

READ_TIMEOUT_S: Final = 15
"""Seconds in which metadata and keys are read together, names looked up and all."""

KEYS_KEPT_S: Final = 300
ADDRESS_KEPT_S: Final = 3_600
RETRY_AFTER_S: Final = 30
"""Seconds before keys are asked for again, when they could not be read or did not have the one wanted."""

_ABSENT: Final = (404, 410)
_DEFAULT_PATH: Final = "/.well-known/jwks.json"


class UnreadKeysError(Exception):
    """Why keys cannot be read, as a sentence; `is_absent` when there is nothing at the address."""

    def __init__(self, sentence: str, *, is_absent: bool = False) -> None:
        super().__init__(sentence)
        self.is_absent = is_absent


class IssuerKeys(jwt.PyJWKClient):
    """The keys of an issuer, at `jwks_url` or where the issuer's metadata say.

    PyJWT keeps them, and asks again for a key that it does not know. What is read is read here, as its own
    reader has no bound on size or time. Not more than one thread reads at once.
    """

    def __init__(self, *, issuer: str, jwks_url: str = "") -> None:
        super().__init__(jwks_url or issuer, lifespan=KEYS_KEPT_S, cooldown_duration=RETRY_AFTER_S)
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._found: tuple[str, float] | None = None
        self._failed_at_s: float | None = None
        self._reader: threading.Thread | None = None

    def fetch_data(self) -> jwt.PyJWKSet:
        """Return the keys as published now; raises PyJWKClientConnectionError when they cannot be read."""
        if self._failed_at_s is not None and time.monotonic() - self._failed_at_s < RETRY_AFTER_S:
            raise jwt.PyJWKClientConnectionError("The keys could not be read a moment ago.")
        try:
            found = self._within(READ_TIMEOUT_S, self._read)
        except (UnreadKeysError, jwt.PyJWTError, TimeoutError) as error:
            self._found, self._failed_at_s = None, time.monotonic()
            why = str(error) if isinstance(error, UnreadKeysError) else type(error).__name__
            log.warning(
                "Nobody is let in without the keys of the tokens' issuer, which cannot be read: %s", why
            )
            raise jwt.PyJWKClientConnectionError(why) from error
        self._failed_at_s, self._last_successful_fetch = None, time.monotonic()
        return found

    def _within(self, limit_s: float, read: Callable[[], jwt.PyJWKSet]) -> jwt.PyJWKSet:
        """Return what a thread of its own reads in time: no look-up of a name can be interrupted."""
        if self._reader is not None and self._reader.is_alive():
            raise UnreadKeysError("an earlier answer is not complete yet")
        done: Future[jwt.PyJWKSet] = Future()

        def work() -> None:
            try:
                done.set_result(read())
            except Exception as error:  # noqa: BLE001 - it is raised again by whoever waits
                done.set_exception(error)

        self._reader = threading.Thread(target=work, name="issuer-keys", daemon=True)
        self._reader.start()
        return done.result(limit_s)

    def _read(self) -> jwt.PyJWKSet:
        address = self._jwks_url or self._discovered()
        document = read_document(address)
        try:
            return jwt.PyJWKSet.from_dict(document)
        except (AttributeError, TypeError, ValueError) as error:
            raise UnreadKeysError(f"{address} is no set of keys") from error

    def _discovered(self) -> str:
        now_s = time.monotonic()
        if self._found is None or now_s - self._found[1] > ADDRESS_KEPT_S:
            self._found = discover(self._issuer), now_s
        return self._found[0]


def discover(issuer: str) -> str:
    """Return where an issuer's keys are, as its metadata say (RFC 8414, OpenID Connect Discovery 1.0).

    Metadata of another issuer are not used. Only when there are none at all is it the usual address behind
    the issuer. Raises UnreadKeysError.
    """
    faults = []
    for address in build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer):
        try:
            return keys_address(read_document(address), issuer=issuer, address=address)
        except UnreadKeysError as error:
            faults.append(error)
    if all(fault.is_absent for fault in faults):
        return issuer.rstrip("/") + _DEFAULT_PATH
    raise UnreadKeysError("; ".join(str(fault) for fault in faults if not fault.is_absent))


def keys_address(metadata: dict[str, Any], *, issuer: str, address: str) -> str:
    """Return the `jwks_uri` of an issuer's metadata.

    Raises UnreadKeysError when they are of another issuer, letter by letter (RFC 8414, section 3.3), or name
    no address that is safe on the way.
    """
    if metadata.get("issuer") != issuer:
        raise UnreadKeysError(f"{address} is of another issuer: {str(metadata.get('issuer'))[:200]!r}")
    found = metadata.get("jwks_uri")
    if not isinstance(found, str) or not _is_safe(found, issuer=issuer):
        raise UnreadKeysError(f"{address} has no jwks_uri that begins with https://: {str(found)[:200]!r}")
    return found


def _is_safe(address: str, *, issuer: str) -> bool:
    """Tell whether keys may be read here: by https, or by http where the issuer is on this machine itself."""
    try:
        parts, port = urlsplit(address), urlsplit(address).port
    except ValueError:
        return False
    if not address.isascii() or not address.isprintable() or " " in address:
        return False
    if not parts.hostname or port == 0 or parts.username is not None or parts.fragment:
        return False
    loopback = {"127.0.0.1", "localhost", "::1"}
    is_here = parts.hostname in loopback and urlsplit(issuer).hostname in loopback
    return parts.scheme == "https" or (parts.scheme == "http" and is_here)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as it is, an answer without keys."""

    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        return None


def read_document(address: str) -> dict[str, Any]:
    """Return the JSON object at an address, without following redirects; raises UnreadKeysError."""
    headers = {"accept": "application/json", "user-agent": f"InferPrice/{__version__}"}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - settings and _is_safe saw to it
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=ANSWER_TIMEOUT_S) as answer:
            body = answer.read(LARGEST_DOCUMENT_BYTES + 1)
    except HTTPError as error:
        with error:
            raise UnreadKeysError(
                f"{address} answered {error.code}", is_absent=error.code in _ABSENT
            ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UnreadKeysError(f"{address} did not answer: {type(error).__name__}") from error
    if len(body) > LARGEST_DOCUMENT_BYTES:
        raise UnreadKeysError(f"{address} has more than {LARGEST_DOCUMENT_BYTES} bytes")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadKeysError(f"{address} is no JSON") from error
    if not isinstance(document, dict):
        raise UnreadKeysError(f"{address} is no JSON object")
    return document
