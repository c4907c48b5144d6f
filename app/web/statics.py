"""Browser files from memory: read once, served compressed, cached for ever where the name holds a hash."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import brotli
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.web.answers import accepts_brotli

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

FOR_EVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    compressed: bytes | None
    media_type: str


class BrowserFiles:
    """Serves the files of one folder. A file is read when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        self._names = frozenset(name for name in names if not name.endswith((".br", ".gz")))
        self._files: dict[str, _File] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a GET or HEAD for a file of the folder; anything else is not found."""
        request = Request(scope)
        name = scope["path"].removeprefix(f"{scope.get('root_path', '')}/")
        if request.method not in {"GET", "HEAD"} or name not in self._names:
            raise HTTPException(404, "Not Found")
        await self._respond(request, self._file(name))(scope, receive, send)

    def _file(self, name: str) -> _File:
        found = self._files.get(name)
        if found is None:
            path = self._folder / name
            body, built = path.read_bytes(), path.with_name(f"{path.name}.br")
            media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
            text = media_type.startswith(("text/", "image/svg", "application/json", "application/javascript"))
            compressed = built.read_bytes() if built.is_file() else brotli.compress(body) if text else None
            found = self._files[name] = _File(body, compressed, media_type)
        return found

    def _respond(self, request: Request, file: _File) -> Response:
        headers = {"cache-control": FOR_EVER, "vary": "Accept-Encoding"}
        body = file.body
        if file.compressed is not None and accepts_brotli(request.headers.get("accept-encoding", "")):
            body, headers["content-encoding"] = file.compressed, "br"
        return Response(body, headers=headers, media_type=file.media_type)
