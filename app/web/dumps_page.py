"""The daily dumps over HTTP: the manifest, and the files that it lists, as they stand in their folder."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException

from app.domain.query import QueryError
from app.store.dumps import MANIFEST, read_manifest
from app.web.answers import Answer, etag, has_since, http_date, not_modified, respond
from app.web.api import JSON, REFUSALS
from app.web.kept import take_nothing
from app.web.state import query_text, read_pairs
from app.web.statics import FOR_EVER

if TYPE_CHECKING:
    from pathlib import Path

    from app.web.shared import Shared

router = APIRouter()

PARQUET: Final = "application/vnd.apache.parquet"
HOW: Final = (
    "There is no such dump. One is written once its day is over, by the scheduler or by `inferprice dump`; "
    "/dumps/manifest.json lists those that there are"
)
NONE_YET: Final = (
    "No dump has been written here yet: the scheduler writes one once a day is over, and `inferprice dump` "
    "writes all of them at once"
)

_REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    304: {"description": "The file is as the reader has it."},
    404: {"description": "There is no such file, and how one is made.", "content": REFUSALS[422]["content"]},
    422: REFUSALS[422],
}
_PARAMETERS: Final = [
    {
        "name": "v",
        "in": "query",
        "required": False,
        "description": "The file's SHA-256 by the manifest: a day's answer may then be kept for ever.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
]


def dumped_days(folder: Path) -> tuple[str, ...]:
    """Return the days that have a file, in order."""
    return tuple(sorted(each.day for each in read_manifest(folder).values() if each.day))


@router.get(
    "/dumps/manifest.json",
    response_class=Response,
    summary="The daily dumps with their rows, sizes and hashes, as JSON",
    responses={
        200: {"description": "The files.", "content": {JSON: {"schema": {"type": "object"}}}},
        **_REFUSALS,
    },
)
def manifest(request: Request) -> Response:
    """Give the manifest as it stands in the folder."""
    take_nothing(request)
    path = _folder(request) / MANIFEST
    try:
        body, changed_s = path.read_bytes(), path.stat().st_mtime
    except OSError:
        raise HTTPException(404, NONE_YET) from None
    tag = etag("dumps", body.decode())
    date = http_date(datetime.fromtimestamp(changed_s, UTC))
    return not_modified(request, tag) or respond(request, Answer(body, JSON), tag=tag, last_modified=date)


@router.get(
    "/dumps/{name}.parquet",
    response_class=Response,
    summary="A daily dump, or the history of all prices, as Parquet",
    openapi_extra={"parameters": _PARAMETERS},
    responses={
        200: {"description": "The file.", "content": {PARQUET: {"schema": {"type": "string"}}}},
        **_REFUSALS,
    },
)
def dump(request: Request, name: str) -> Response:
    """Give a file that the manifest lists, or parts of it (Range): history, or a day as offers-2026-11-01."""
    version = _asked_version(request)
    folder, file_name = _folder(request), f"{name}.parquet"
    listed = read_manifest(folder)
    found = listed.get(file_name)
    if found is None:
        raise HTTPException(404, HOW if listed else NONE_YET)
    if version and version != found.sha256:
        raise HTTPException(404, f"{file_name} has another hash by now: {found.sha256}")
    headers = {
        "etag": f'"{found.sha256}"',
        # What has all days in it is another file tomorrow; that of a past day changes with a correction only.
        "cache-control": FOR_EVER if version and found.day else "no-cache",
    }
    return _file(request, folder / file_name, headers=headers)


def _file(request: Request, path: Path, *, headers: dict[str, str]) -> Response:
    try:
        response = FileResponse(
            path, headers=headers, media_type=PARQUET, filename=path.name, stat_result=path.stat()
        )
    except FileNotFoundError:
        raise HTTPException(404, HOW) from None
    date = response.headers["last-modified"]
    if not_modified(request, headers["etag"]) or has_since(request, date):
        return Response(status_code=304, headers=headers)
    return response


def _asked_version(request: Request) -> str:
    """Return the hash that a file is asked for with, an empty text without one; raises QueryError."""
    version = ""
    for name, value in read_pairs(query_text(request)):
        if name != "v":
            raise QueryError("parameter", name or value, "use v, the file's SHA-256, or nothing")
        if not re.fullmatch("[0-9a-f]{64}", value):
            raise QueryError("v", value, "use the file's SHA-256 as the manifest has it")
        version = value
    return version


def _folder(request: Request) -> Path:
    shared: Shared = request.app.state.shared
    return shared.dumps


router.add_route("/dumps/manifest.json", manifest, methods=["HEAD"], include_in_schema=False)
router.add_route(
    "/dumps/{name}.parquet",
    lambda request: dump(request, request.path_params["name"]),
    methods=["HEAD"],
    include_in_schema=False,
)
