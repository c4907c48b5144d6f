"""Serves the application on a real loopback port for as long as a test needs it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

START_TIMEOUT_S = 10


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """Give the address of the application on a free port, without a slash at its end."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < give_up_at, "the server did not start in time"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(START_TIMEOUT_S)
