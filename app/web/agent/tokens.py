"""Checks bearer tokens of an issuer: signature by its published keys, issuer, audience, expiry and scopes."""

from __future__ import annotations

import logging
from typing import Any, Final

import jwt
from anyio import CapacityLimiter, to_thread
from mcp.server.auth.provider import AccessToken

from app.web.agent.keys import IssuerKeys

log = logging.getLogger(__name__)

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Signatures with a private key of the issuer; a shared secret, or none at all, proves nothing."""

LONGEST_TOKEN: Final = 8_000
CHECKS_AT_ONCE: Final = 4
"""Threads that check tokens: when the issuer is slow these wait for it, and none that answers pages does."""

REQUIRED: Final = ("exp", "iss", "aud")


class IssuedTokens:
    """Verifies tokens that an issuer made for one resource. Without `jwks_url` its metadata are asked."""

    def __init__(self, *, issuer: str, jwks_url: str, resource: str) -> None:
        self._issuer = issuer
        self._resource = resource
        self._keys = IssuerKeys(issuer=issuer, jwks_url=jwks_url)
        self._limiter = CapacityLimiter(CHECKS_AT_ONCE)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a token permits, or None for one that is not to be trusted."""
        return await to_thread.run_sync(self._verified, token, limiter=self._limiter)

    def _verified(self, token: str) -> AccessToken | None:
        try:
            claims = self._claims(token)
        except jwt.PyJWKClientConnectionError:
            return None  # whoever could not read the keys has logged why, once
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            # The words of the error may repeat parts of the token, which belong in no log.
            log.info("A token was not accepted: %s", type(error).__name__)
            return None
        client = next((claims[name] for name in ("client_id", "azp", "sub") if claims.get(name)), None)
        if client is None:
            return None
        return AccessToken(
            token="",  # nobody behind this check has any use for it
            client_id=str(client),
            scopes=scopes_of(claims),
            expires_at=int(claims["exp"]),
            resource=self._resource,
            subject=str(claims["sub"]) if "sub" in claims else None,
        )

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > LONGEST_TOKEN:
            raise jwt.InvalidTokenError
        key = self._keys.get_signing_key_from_jwt(token)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            issuer=self._issuer,
            audience=self._resource,
            options={"require": list(REQUIRED)},
        )
        return claims


def scopes_of(claims: dict[str, Any]) -> list[str]:
    """Return the scopes of a token: of `scope`, a text with spaces between, or of `scp`, that or a list."""
    stated = claims.get("scope", claims.get("scp", ""))
    if isinstance(stated, str):
        return stated.split()
    return [each for each in stated if isinstance(each, str)] if isinstance(stated, list) else []
