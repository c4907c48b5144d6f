"""An issuer of tokens on a loopback port: its keys as JWKS, and tokens of every kind, right and wrong."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

KID = "key-1"


@dataclass(frozen=True, slots=True)
class Issuer:
    """Where it is, and the private key with which it signs."""

    address: str
    key: rsa.RSAPrivateKey

    @property
    def jwks_url(self) -> str:
        return f"{self.address}/keys"

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
    keys = json.dumps({"keys": [{**public, "kid": KID, "use": "sig", "alg": "RS256"}]}).encode()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/keys" else 404)
            self.send_header("content-length", str(len(keys)))
            self.end_headers()
            self.wfile.write(keys)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Issuer(f"http://127.0.0.1:{server.server_port}", key)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
