"""Read what checkpoints hold from the headers of their files, wherever these lie, and never their weights."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from app.domain.llms.checkpoint.facts import Tally, facts_of
from app.domain.llms.checkpoint.gguf import MAGIC, read_gguf
from app.domain.llms.checkpoint.header import HeaderError, quoted
from app.domain.llms.checkpoint.identity import compare
from app.domain.llms.checkpoint.index import Group, check_names, groups_of, read_index
from app.domain.llms.checkpoint.quantisation import quantisation_of
from app.domain.llms.checkpoint.safetensors import read_safetensors
from app.domain.llms.checkpoint.yarn import context_of, context_of_gguf
from app.domain.query_error import QueryError
from app.domain.serving.expert_cache import experts_of
from app.ingest.fetch import fetching, keys_of, limits_of
from app.ingest.fetched import FetchError
from app.ingest.places import (
    CONFIG,
    HUB,
    HUB_KEY,
    INDEX_END,
    SIDE_CONFIG,
    HubHosts,
    in_memory,
    json_object,
    kind_of,
    place_of,
)
from app.ingest.ranges import Budget, Reach

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from app.domain.llms.checkpoint.facts import CheckpointFacts
    from app.domain.llms.checkpoint.header import CheckpointFile, Header
    from app.domain.llms.checkpoint.identity import Identity
    from app.domain.serving.expert_cache import Experts
    from app.ingest.fetch import Fetcher
    from app.ingest.places import Place
    from app.settings import Settings

_SAFETENSORS: Final = ".safetensors"
_GGUF: Final = ".gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """One checkpoint of a source: what it holds, or why that cannot be said; and how much of it was read."""

    name: str
    facts: CheckpointFacts | None
    error: str
    read_bytes: int
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Where ORG/NAME is looked up, and the hosts it may redirect to."""

    url: str = HUB
    hosts: Collection[str] = field(default_factory=HubHosts)


HUGGING_FACE: Final = Hub()


def screen(sources: Sequence[str], fetcher: Fetcher, *, hub: Hub = HUGGING_FACE) -> Iterator[Screened]:
    """Read every checkpoint of each source; one that refuses or breaks does not stop the others.

    Raises QueryError for a source that is none, before any is read.
    """
    for source in sources:
        kind_of(source, hub=hub.url, schemes=fetcher.limits.schemes)
    for source in sources:
        budget = Budget()
        try:
            place = place_of(source, _reach(source, fetcher, budget=budget, hub=hub), hub=hub.url)
            groups = _groups(place)
        except (HeaderError, FetchError, OSError) as error:
            yield _row(source, budget, error=_sentence(error))
            continue
        for group in groups:
            name = place.name if len(groups) == 1 else f"{place.name}/{group.name}"
            try:
                yield _row(name, budget, facts=_read(place, group))
            except (HeaderError, FetchError, OSError) as error:
                yield _row(name, budget, error=_sentence(error))
            budget.begin()


def identities(
    sources: Sequence[str], fetcher: Fetcher, *, hub: Hub = HUGGING_FACE
) -> Iterator[tuple[str, Identity | str]]:
    """Compare the files of the first source with those of each other; a sentence where they cannot be had."""
    listings: list[Mapping[str, str | None] | str] = []
    for source in sources:
        reach = _reach(source, fetcher, budget=Budget(), hub=hub)
        try:
            listings.append(place_of(source, reach, hub=hub.url).digests())
        except (HeaderError, FetchError, OSError) as error:
            listings.append(_sentence(error))
    first = listings[0]
    for source, listing in zip(sources[1:], listings[1:], strict=True):
        if isinstance(first, str) or isinstance(listing, str):
            yield source, first if isinstance(first, str) else str(listing)
        else:
            yield source, compare(first, listing)


def read_experts(sources: Sequence[str], fetcher: Fetcher, *, hub: Hub = HUGGING_FACE) -> Experts:
    """Return the experts of one GGUF: from one of its parts, which names the others, or from several.

    Raises QueryError for sources that are not one model, HeaderError or FetchError where it cannot be read.
    """
    for source in sources:
        kind_of(source, hub=hub.url, schemes=fetcher.limits.schemes)
    place = place_of(sources[0], _reach(sources[0], fetcher, budget=Budget(), hub=hub), hub=hub.url)
    folder, _ = _folder_and_name(sources[0])
    for source in sources[1:]:
        if _folder_and_name(source) not in {(folder, name) for name in place.files}:
            raise QueryError("SOURCE", source, f"give parts of the same model as {place.name}")
    groups = groups_of(name for name in place.files if name.endswith(_GGUF))
    if len(groups) != 1:
        held = f"several GGUF models ({', '.join(each.name for each in groups[:5])})" if groups else "no GGUF"
        raise FetchError(
            "several" if groups else "no_gguf", f"{place.name} holds {held}: name a file of one."
        )
    try:
        return experts_of(_gguf_headers(place, groups[0]))
    except OSError as error:
        raise FetchError("unreadable", _sentence(error)) from None


def _gguf_headers(place: Place, group: Group) -> Iterator[Header]:
    for number, name in enumerate(group.files):
        header = read_gguf(place.open(name))
        _check_split(header, number, count=len(group.files))
        yield header


def _folder_and_name(source: str) -> tuple[str, str]:
    """Return where a file lies and what it is called there."""
    if source.startswith(("http://", "https://")):
        folder, _, name = source.partition("?")[0].rpartition("/")
        return folder, unquote(name)
    return str(Path(source).parent), Path(source).name


@contextmanager
def fetcher_for(settings: Settings) -> Iterator[Fetcher]:
    """Give the polite client of these settings."""
    with fetching(limits_of(settings), keys=keys_of(settings)) as fetcher:
        yield fetcher


def _reach(source: str, fetcher: Fetcher, *, budget: Budget, hub: Hub) -> Reach:
    """Return how a source is asked: the key goes to the Hub alone, and an address stays on its own host."""
    is_address = source.startswith(("http://", "https://"))
    if is_address and not source.startswith(f"{hub.url}/"):
        return Reach(fetcher=fetcher, hosts=(urlsplit(source).hostname or "",), budget=budget)
    return Reach(fetcher=fetcher, hosts=hub.hosts, budget=budget, key=HUB_KEY)


def _row(name: str, budget: Budget, *, facts: CheckpointFacts | None = None, error: str = "") -> Screened:
    return Screened(
        name=name, facts=facts, error=error, read_bytes=budget.read_bytes, requests=budget.requests
    )


def _sentence(error: Exception) -> str:
    """Return an error as a sentence; what the system says of a file names the file."""
    if isinstance(error, OSError):
        return f"{error.filename or 'A file'} cannot be read: {error.strerror or error}."
    return str(error)


def _groups(place: Place) -> tuple[Group, ...]:
    """Return the checkpoints of a place: its safetensors as one, else each GGUF by itself."""
    if place.name.endswith(INDEX_END):
        return (_indexed(place, place.name),)
    tensors = [name for name in place.files if name.endswith(_SAFETENSORS) and "/" not in name]
    if tensors:
        return (_sharded(place, tensors),)
    groups = [group for group in groups_of(place.files) if not group.files[0].endswith(_SAFETENSORS)]
    if not groups:
        raise FetchError("no_checkpoint", f"{place.name} holds no safetensors at its root, and no GGUF.")
    return tuple(groups)


def _sharded(place: Place, tensors: Sequence[str]) -> Group:
    """Return the safetensors that make up one checkpoint; the index says it where their names do not."""
    groups = groups_of(tensors)
    if len(groups) == 1:
        return groups[0]
    index = next((name for name in place.files if name.endswith(INDEX_END) and "/" not in name), None)
    if index is not None:
        return _indexed(place, index)
    model = next((group for group in groups if group.name == "model"), None)
    if model is None:
        names = ", ".join(group.name for group in groups[:5])
        raise FetchError("several", f"{place.name} holds several checkpoints ({names}): name a file of one.")
    return model


def _indexed(place: Place, name: str) -> Group:
    index = read_index(in_memory(name, place.load(name)))
    return Group(name=place.name, files=index.names, index=index)


def _read(place: Place, group: Group) -> CheckpointFacts:
    """Read the headers of all files of a checkpoint, one after the other."""
    config, side_config = _config(place, CONFIG), _config(place, SIDE_CONFIG)
    is_gguf = group.files[0].endswith(".gguf")
    tally = Tally(quantisation=None if is_gguf else quantisation_of(config, side_config))
    context = context_of(config) if config is not None and not is_gguf else None
    for number, name in enumerate(group.files):
        header = _header(place.open(name))
        if header.format == "gguf":
            _check_split(header, number, count=len(group.files))
            context = context or context_of_gguf(header.metadata)
        if group.index is not None:
            check_names(group.index, header)
        tally.add(header)
    return facts_of(tally, context=context, notes=_notes(tally, group))


def _notes(tally: Tally, group: Group) -> tuple[str, ...]:
    """Return what is odd, in sentences, but no reason to refuse."""
    notes: list[str] = []
    total_bytes, tensor_bytes = group.index.total_bytes if group.index else None, tally.size_bytes.total()
    if total_bytes not in {None, tensor_bytes}:
        notes.append(f"The index says {total_bytes} bytes, the tensors have {tensor_bytes}.")
    unread = tally.quantisation.kept.unread if tally.quantisation else ()
    if unread:
        notes.append(f"{len(unread)} patterns of the config are not understood, such as {quoted(unread[0])}.")
    return tuple(notes)


def _config(place: Place, name: str) -> Mapping[str, Any] | None:
    return json_object(place.load(name), name) if name in place.files else None


def _header(file: CheckpointFile) -> Header:
    """Read a header by what the file begins with; its name may say anything."""
    begin = file.read(0, min(len(MAGIC), file.file_bytes))
    return read_gguf(file) if begin == MAGIC else read_safetensors(file)


def _check_split(header: Header, number: int, *, count: int) -> None:
    """Raise for a part of a GGUF that says it is another one."""
    said = (header.metadata.get("split.no", 0), header.metadata.get("split.count", 1) or 1)
    if said != (number, count):
        raise HeaderError(
            header.file,
            f"it says that it is part {said[0]} of {said[1]}, counted from 0",
            f"by its name it is part {number} of {count}",
        )
