"""Starts one side to be measured over HTTP: the real application, or the same bytes from memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.routing import BaseRoute, Route

from app.settings import load_settings
from app.web.main import collect_seldom, create_app

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def same_bytes(folder: Path) -> ASGIApp:
    """Return an application that only answers a body with its headers, both held in memory."""
    body = (folder / "body").read_bytes()
    headers: dict[str, str] = json.loads((folder / "headers.json").read_text(encoding="utf-8"))

    def page(_request: Request) -> Response:
        return Response(body, headers=headers)

    async def page_on_the_loop(_request: Request) -> Response:
        return Response(body, headers=headers)

    routes: list[BaseRoute] = [
        Route("/", page, methods=["GET"]),
        Route("/loop", page_on_the_loop, methods=["GET"]),
    ]
    application = FastAPI(docs_url=None, redoc_url=None, routes=routes)
    # Whatever stands around our own pages stands around these bytes too.
    application.user_middleware = create_app(load_settings()).user_middleware
    return application


def main() -> None:
    """Serve `board`, or `bytes <folder>`, on a port of this machine, in one worker."""
    *what, port = sys.argv[1:]
    application = create_app(load_settings()) if what == ["board"] else same_bytes(Path(what[1]))
    collect_seldom()
    uvicorn.run(application, host="127.0.0.1", port=int(port), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
