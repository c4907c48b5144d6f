"""An issuer of tokens on a loopback port: its keys as JWKS, and tokens of every kind, right and wrong."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

KID = "key-1"
OAUTH = "/.well-known/oauth-authorization-server"
"""Where an issuer without a path has its metadata (RFC 8414, section 3)."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Where it is, the private key with which it signs, and what it answers at each path, to be changed.

    An answer is a status and a document, bytes as they are; `asked` are the paths that were asked for.
    """

    address: str
    key: rsa.RSAPrivateKey
    answers: dict[str, tuple[int, Any]]
    asked: list[str] = field(default_factory=list)

    @property
    def jwks_url(self) -> str:
        return f"{self.address}/keys"

    def metadata(self, path: str = "", **changed: Any) -> dict[str, Any]:
        """Return metadata of an issuer behind this path, with what RFC 8414 asks for."""
        name = self.address + path
        return {
            "issuer": name,
            "authorization_endpoint": f"{name}/authorize",
            "token_endpoint": f"{name}/token",
            "jwks_uri": self.jwks_url,
            **changed,
        }

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return the claims of a good token with some changed; None leaves one out."""
        now = int(time.time())
        claims = {"iss": self.address, "exp": now + 300, "iat": now, "sub": "reader", "client_id": "test"}
        return {name: value for name, value in (claims | changed).items() if value is not None}

    def token(self, **changed: Any) -> str:
        return jwt.encode(self.claims(**changed), self.key, algorithm="RS256", headers={"kid": KID})


@contextmanager
def issuing() -> Iterator[Issuer]:
    """Give an issuer that publishes its keys as long as the block lasts."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    keys = {"keys": [{**public, "kid": KID, "use": "sig", "alg": "RS256"}]}
    answers: dict[str, tuple[int, Any]] = {"/keys": (200, keys)}
    asked: list[str] = []

    class Published(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, document = answers.get(self.path, (404, {}))
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            if status in {301, 302, 307}:
                self.send_header("location", "/keys")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Published)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Issuer(f"http://127.0.0.1:{server.server_port}", key, answers, asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
