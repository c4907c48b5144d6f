"""Where checkpoints lie: on this machine, at an address, in a repository of the Hugging Face Hub.

The Hub's addresses and its listing are as its own client asks for them (huggingface_hub: `api/models/...`,
`resolve/...`). They have only met servers of our tests, never the Hub as it answers today.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from app.domain.llms.checkpoint.header import CheckpointFile
from app.domain.llms.checkpoint.index import parts_of, read_index
from app.domain.query_error import QueryError
from app.ingest.fetched import FetchError
from app.ingest.ranges import RangeFile
from scrapers.base import Key, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.ingest.ranges import Budget, Reach

NEVER_MET_LIVE: Final = True
"""The Hub's answers were written from what its client expects; none was ever fetched."""

HUB: Final = "https://huggingface.co"
HUB_KEY: Final = Key(setting="huggingface_token", is_required=False)
INDEX_END: Final = ".safetensors.index.json"
CONFIG: Final = "config.json"
SIDE_CONFIG: Final = "hf_quant_config.json"
MOST_LISTED: Final = 20_000
"""Files of one repository or folder."""

Kind = Literal["address", "repository", "folder", "file"]

_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_CHECKPOINT_ENDS: Final = (".safetensors", ".gguf", INDEX_END)
_MOST_SMALL_BYTES: Final = 20_000_000


class HubHosts(Collection[str]):
    """The Hub's own hosts: its name, and all below the two domains to which it redirects downloads.

    It moves its storage from host to host (cdn-lfs-us-1.hf.co, cas-bridge.xethub.hf.co, us.aws.cdn.hf.co).
    """

    _NAMES: Final = ("huggingface.co", "*.huggingface.co", "*.hf.co")

    def __contains__(self, host: object) -> bool:
        """Tell whether a host is the Hub or below its domains."""
        return isinstance(host, str) and (
            host == "huggingface.co" or host.endswith((".huggingface.co", ".hf.co"))
        )

    def __iter__(self) -> Iterator[str]:
        """Give the names as a message shows them."""
        return iter(self._NAMES)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where files lie together: their names, how one is opened, and how a small one is read whole.

    `digests` gives what tells whether two files are the same, None for one of which nothing does.
    """

    name: str
    files: tuple[str, ...]
    open: Callable[[str], CheckpointFile]
    load: Callable[[str], bytes]
    digests: Callable[[], Mapping[str, str | None]]


def kind_of(source: str, *, hub: str, schemes: Collection[str]) -> Kind:
    """Return what a source is, without asking anyone; raises QueryError for one that is nothing."""
    if source.startswith(("http://", "https://")):
        return _kind_of_address(source, hub=hub, schemes=schemes)
    path = Path(source)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:
        raise _wrong(source, f"give a path that can be looked up ({error.strerror})") from None
    if is_folder:
        return "folder"
    if is_file and not path.name.endswith(_CHECKPOINT_ENDS):
        raise _wrong(source, f"name a file that ends in {', '.join(_CHECKPOINT_ENDS)}")
    if is_file:
        return "file"
    if _REPO.fullmatch(source) and not source.endswith(_CHECKPOINT_ENDS):
        return "repository"
    raise _wrong(source, "give a file or folder that is here, an https address, or ORG/NAME of the Hub")


def _kind_of_address(source: str, *, hub: str, schemes: Collection[str]) -> Kind:
    try:
        parts = urlsplit(source)
    except ValueError:
        raise _wrong(source, "give an address that can be read") from None
    if parts.username or parts.password:
        raise _wrong(f"{parts.scheme}://...@{parts.hostname}", "leave the password out")
    if parts.scheme not in schemes:
        raise _wrong(source, f"addresses begin with {' or '.join(schemes)}://")
    if source.startswith(f"{hub}/") and _REPO.fullmatch(unquote(parts.path).strip("/")):
        return "repository"
    if not parts.path.endswith(_CHECKPOINT_ENDS):
        raise _wrong(source, f"name a file that ends in {', '.join(_CHECKPOINT_ENDS)}")
    return "address"


def _wrong(source: str, expected: str) -> QueryError:
    return QueryError("SOURCE", source, expected)


def place_of(source: str, reach: Reach, *, hub: str = HUB) -> Place:
    """Return where a source lies: a file or folder that is here, an address, or ORG/NAME on the Hub.

    Raises QueryError for a source that is none of these, FetchError for one that cannot be had.
    """
    kind = kind_of(source, hub=hub, schemes=reach.fetcher.limits.schemes)
    if kind == "address":
        return _at_address(source, reach, hub=hub)
    if kind == "repository":
        return _repository(unquote(source.removeprefix(f"{hub}/")).strip("/"), reach, hub=hub)
    path = Path(source)
    return _folder(path, reach.budget) if kind == "folder" else _beside(path, reach.budget)


def _at_address(source: str, reach: Reach, *, hub: str) -> Place:
    parts = urlsplit(source)
    # The Hub shows a file under blob/ and gives it under resolve/.
    shown = parts.path.replace("/blob/", "/resolve/", 1) if source.startswith(f"{hub}/") else parts.path
    folder, _, file = shown.rpartition("/")
    name = unquote(file)

    def address(one: str) -> str:
        return urlunsplit((parts.scheme, parts.netloc, f"{folder}/{quote(one)}", parts.query, ""))

    def no_digests() -> Mapping[str, str | None]:
        raise FetchError(
            "no_listing", f"{parts.hostname} lists no files that could be compared: name a repository."
        )

    return Place(
        name=name,
        files=parts_of(name),
        open=lambda one: RangeFile(reach=reach, url=address(one), name=one).open(),
        load=lambda one: _whole(reach, address(one)),
        digests=no_digests,
    )


def _whole(reach: Reach, url: str) -> bytes:
    """Return a small file as a whole, within the client's bound for a page."""
    reach.budget.requests += 1
    body = reach.fetcher.fetch(Request(url=url, key=reach.key), hosts=reach.hosts).body
    reach.budget.take(len(body), url)
    return body


def _repository(repo: str, reach: Reach, *, hub: str) -> Place:
    """Return a repository of the Hub, held to the commit that it is at now."""
    url = f"{hub}/api/models/{repo}?blobs=true"
    try:
        listed, commit = _listing(_whole(reach, url), url)
    except FetchError as error:
        if error.evidence.get("status") in {"401", "403", "404"}:
            raise FetchError(
                "no_repository",
                f"{hub}/{repo} is not there, or not for everyone: {error} INFERPRICE_HUGGINGFACE_TOKEN may be"
                " set to a token that reads it.",
            ) from None
        raise

    def address(one: str) -> str:
        return f"{hub}/{repo}/resolve/{commit}/{quote(one)}"

    return Place(
        name=repo,
        files=tuple(listed),
        open=lambda one: RangeFile(reach=reach, url=address(one), name=f"{repo}/{one}").open(),
        load=lambda one: _whole(reach, address(one)),
        digests=lambda: listed,
    )


def _listing(body: bytes, url: str) -> tuple[dict[str, str | None], str]:
    """Return the files of a repository with their digests, and its commit.

    Files in LFS have their SHA-256; small ones the hash that git gives them, which is as good for comparing.
    """
    told = json_object(body, url)
    siblings, commit = told.get("siblings"), told.get("sha")
    if (
        not isinstance(siblings, list)
        or not isinstance(commit, str)
        or not re.fullmatch("[0-9a-f]{40}", commit)
    ):
        raise FetchError("no_listing", f"{url} lists no files and no commit.")
    if len(siblings) > MOST_LISTED:
        raise FetchError("no_listing", f"{url} lists {len(siblings)} files; at most {MOST_LISTED} are read.")
    listed: dict[str, str | None] = {}
    for each in siblings:
        name = each.get("rfilename") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name.isprintable() or {"", ".", ".."} & set(name.split("/")):
            raise FetchError("no_listing", f"{url} lists a file without a name that can be used.")
        lfs = each.get("lfs")
        sha256, blob = lfs.get("sha256") if isinstance(lfs, dict) else None, each.get("blobId")
        listed[name] = sha256 if isinstance(sha256, str) else f"git {blob}" if isinstance(blob, str) else None
    return listed, commit


def json_object(body: bytes, name: str) -> Mapping[str, Any]:
    """Return the object that a small file holds; raises FetchError for anything else."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FetchError("no_json", f"{name} is no JSON that can be read.") from error
    if not isinstance(told, dict):
        raise FetchError("no_json", f"{name} holds no object.")
    return told


def _folder(folder: Path, budget: Budget) -> Place:
    every = (each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
    names = sorted(itertools.islice(every, MOST_LISTED + 1))
    if len(names) > MOST_LISTED:
        raise QueryError("SOURCE", str(folder), f"give a folder of at most {MOST_LISTED} files")
    return _here(folder, folder.resolve().name, files=tuple(names), budget=budget)


def _beside(path: Path, budget: Budget) -> Place:
    """Return the place of one file that is here, with its parts and the config beside it."""
    beside = tuple(name for name in (CONFIG, SIDE_CONFIG) if (path.parent / name).is_file())
    files = parts_of(path.name)
    if path.name.endswith(INDEX_END):
        body = _start_of(path)
        files = (path.name, *read_index(in_memory(path.name, body)).names)
    return _here(path.parent, path.name, files=(*files, *beside), budget=budget)


def _here(folder: Path, name: str, *, files: tuple[str, ...], budget: Budget) -> Place:
    def opened(one: str) -> CheckpointFile:
        path = folder / one
        length = path.stat().st_size

        def read(offset: int, wanted: int) -> bytes:
            budget.take(wanted, one)
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(wanted)

        return CheckpointFile(name=one, file_bytes=length, read=read)

    def loaded(one: str) -> bytes:
        body = _start_of(folder / one)
        budget.take(len(body), one)
        return body

    return Place(
        name=name,
        files=files,
        open=opened,
        load=loaded,
        digests=lambda: {one: _sha256(folder / one) for one in files},
    )


def in_memory(name: str, body: bytes) -> CheckpointFile:
    """Return a small file that was read whole as one that is read in pieces."""
    return CheckpointFile(name=name, file_bytes=len(body), read=lambda at, length: body[at : at + length])


def _start_of(path: Path) -> bytes:
    """Return a small file as a whole."""
    with path.open("rb") as file:
        body = file.read(_MOST_SMALL_BYTES + 1)
    if len(body) > _MOST_SMALL_BYTES:
        raise FetchError("too_large", f"{path.name} has more than {_MOST_SMALL_BYTES} bytes.")
    return body


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
