"""What a provider's words for an accelerator mean: exact names, each in its own context, never a guess.

The names are in `data/aliases.csv`. A context is who speaks: a provider's slug for the names on its pages or
in its API (`runpod`, `coreweave`), or a tool (`gpuhunt`, `nvidia-driver`). A name of one context says nothing
in another. Two names are the same when they are equal after runs of white space became one space and case was
folded. Nothing is matched by prefix or substring: H200 is inside GH200, L4 inside L40S, A10 inside A100.

The cell `resolves_to` is one of

- an id of `accelerators.csv`, or of a part that exists without a published bandwidth;
- `ambiguous:a|b`: one of these, decided by memory and socket, else unknown;
- `any:a|b`: all of these at once (a pool, one price for several cards), so never one of them;
- `slice:a`: a part of this card, which has no accelerator of its own;
- `none`: a known name that must not be mapped, for the reason in `rule`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import WITHOUT_BANDWIDTH, load_catalogue
from app.domain.cells import packaged_lines, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.cells import Cells

SOCKETS: Final = ("sxm", "pcie", "nvl", "oam")
"""Form factors that tell variants of one family apart."""

_DATA_FILE: Final = "aliases.csv"
_KINDS: Final = ("ambiguous", "any", "slice")
_NO_SOCKET: Final = ("superchip", "workstation", "consumer", "tpu", "neuron")
_WORD: Final = re.compile(r"[a-z0-9]+")
_SOCKET_WORD: Final = re.compile(r"(sxm)[2-9]?|pcie|nvl|oam")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a name means. `reason` is the rule that decided, or why it stayed unknown.

    `accelerator` is an id, None when unknown. `family` may be known when the variant is not. `slice_of` is
    the id of the card that a slice is cut from (then `accelerator` is None). `known` is False when the name
    is in no list of its context, which is worth a finding: somebody must look at it.
    """

    accelerator: str | None
    family: str | None
    slice_of: str | None
    reason: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alias:
    """One line of the file; `kind` is `one`, `ambiguous`, `any`, `slice` or `none` (which names no part)."""

    name: str
    context: str
    kind: str
    parts: tuple[str, ...]
    gpu_count: Decimal | None
    rule: str


def resolve(
    name: str,
    *,
    context: str,
    memory_gb: Decimal | None = None,
    gpu_count: int | None = None,
    socket: str | None = None,
) -> Resolution:
    """Say what `name` means in `context`.

    `memory_gb` is the memory of one GPU as printed (GB or GiB), `gpu_count` the GPUs of the instance,
    `socket` one of `SOCKETS` (SXM5 is read as sxm). What is stated must agree with what the name says: a
    contradiction gives unknown, with the reason, never the nearer of the two.

    Raises:
        ValueError: `socket` is no socket.
    """
    stated_socket = None if socket is None else _socket(socket)
    if socket is not None and stated_socket is None:
        raise ValueError(f"{socket!r} is none of {', '.join(SOCKETS)}")
    alias = _aliases().get(context, {}).get(_key(name))
    if alias is None:
        return _unknown(f"{name!r} is in no list of names of {context}", known=False)
    if alias.kind == "none":
        return _unknown(alias.rule)
    if alias.kind == "slice":
        card = alias.parts[0]
        return Resolution(
            accelerator=None, family=_family(card), slice_of=card, reason=_because(alias), known=True
        )
    if gpu_count is not None and alias.gpu_count is not None and alias.gpu_count != gpu_count:
        return _unsure(alias.parts, f"the name means {alias.gpu_count} GPUs, {gpu_count} are stated")
    if alias.kind == "any":
        return _unsure(alias.parts, _because(alias))
    return _decide(alias, memory_gb, stated_socket)


def names(context: str) -> tuple[str, ...]:
    """Return the names listed for a context in file order, empty for a context we do not know."""
    return tuple(alias.name for alias in _aliases().get(context, {}).values())


def contexts() -> tuple[str, ...]:
    """Return every context that has names, in file order."""
    return tuple(_aliases())


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One name with the contexts that use it, and the cards it may mean: several when it leaves that open."""

    name: str
    contexts: tuple[str, ...]
    parts: tuple[str, ...]


def names_for(accelerator: str) -> tuple[Name, ...]:
    """Return the names of whole cards that mean this one or may mean it, those that mean only it first."""
    found: dict[tuple[str, tuple[str, ...]], Name] = {}
    for context, of_context in _aliases().items():
        for alias in of_context.values():
            if alias.kind == "slice" or accelerator not in alias.parts:
                continue
            key = (_key(alias.name), alias.parts)
            before = found.get(key)
            contexts_so_far = before.contexts if before else ()
            name = before.name if before else alias.name
            found[key] = Name(name=name, contexts=(*contexts_so_far, context), parts=alias.parts)
    return tuple(sorted(found.values(), key=lambda name: (len(name.parts) > 1, name.name.casefold())))


def _decide(alias: _Alias, memory_gb: Decimal | None, socket: str | None) -> Resolution:
    """Narrow the candidates by memory, then by socket; one left is the answer."""
    left = alias.parts
    if memory_gb is not None:
        fits = tuple(part for part in left if _accepts_memory(part, memory_gb))
        if not fits:
            return _unsure(left, f"{memory_gb} GB is no memory size of {_list(left)}")
        left = fits
    if socket is None and alias.kind == "ambiguous":
        socket = _socket_in(alias.name)
    if socket is not None:
        fits = tuple(part for part in left if _accepts_socket(part, socket))
        if not fits:
            return _unsure(left, f"{socket} is not the socket of {_list(left)}")
        left = fits
    if len(left) > 1:
        return _unsure(left, f"{_because(alias)}; left: {_list(left)}")
    return _settle(left[0], _because(alias))


def _settle(part: str, reason: str) -> Resolution:
    """Return the resolution to one part, unknown when the table has no figures for it."""
    accelerator = load_catalogue().get(part)
    if accelerator is None:
        return _unsure((part,), f"{part} is not in our table: its memory bandwidth is not published")
    return Resolution(accelerator=part, family=accelerator.family, slice_of=None, reason=reason, known=True)


def _unsure(parts: tuple[str, ...], reason: str) -> Resolution:
    """Return an unknown variant, with the family when all parts share it."""
    families = {_family(part) for part in parts}
    family = families.pop() if len(families) == 1 else None
    return Resolution(accelerator=None, family=family, slice_of=None, reason=reason, known=True)


def _unknown(reason: str, *, known: bool = True) -> Resolution:
    return Resolution(accelerator=None, family=None, slice_of=None, reason=reason, known=known)


def _accepts_memory(part: str, memory_gb: Decimal) -> bool:
    """Tell whether the size fits; a part that is not in the table cannot be ruled out."""
    accelerator = load_catalogue().get(part)
    return accelerator is None or accelerator.accepts_memory(memory_gb)


def _accepts_socket(part: str, socket: str) -> bool:
    """Tell whether the socket fits; a form factor that is no socket (workstation) cannot be ruled out."""
    accelerator: Accelerator | None = load_catalogue().get(part)
    return accelerator is None or accelerator.form_factor in {socket, *_NO_SOCKET}


def _family(part: str) -> str:
    accelerator = load_catalogue().get(part)
    return WITHOUT_BANDWIDTH[part] if accelerator is None else accelerator.family


def _because(alias: _Alias) -> str:
    return alias.rule or f"{alias.name!r} is the name of {_list(alias.parts)} in {alias.context}"


def _list(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _key(name: str) -> str:
    """Fold white space and case, and nothing else."""
    return " ".join(name.split()).casefold()


def _socket(word: str) -> str | None:
    """Return the socket a word means (SXM5 is sxm), None when it is none."""
    found = _SOCKET_WORD.fullmatch(word.strip().casefold())
    return None if found is None else found[1] or found[0]


def _socket_in(name: str) -> str | None:
    """Return the socket that stands as a whole word in a name, None when none or several do."""
    found = {_socket(word) for word in _WORD.findall(name.casefold())} - {None}
    return found.pop() if len(found) == 1 else None


@cache
def _aliases() -> Mapping[str, Mapping[str, _Alias]]:
    """Return the packaged names: context, then folded name."""
    return parse_aliases(packaged_lines(_DATA_FILE))


def parse_aliases(lines: Iterable[str], *, file_name: str = _DATA_FILE) -> Mapping[str, Mapping[str, _Alias]]:
    """Read names from CSV lines: context, then folded name.

    Raises:
        ValueError: a cell cannot be read, names a part we do not know, or repeats a name of its context.
    """
    by_context: dict[str, dict[str, _Alias]] = {}
    for row in read_lines(lines, file_name=file_name):
        alias = _alias(row)
        of_context = by_context.setdefault(alias.context, {})
        if _key(alias.name) in of_context:
            raise row.error("name", f"stands twice in {alias.context}")
        of_context[_key(alias.name)] = alias
    return MappingProxyType({context: MappingProxyType(of) for context, of in by_context.items()})


def _alias(row: Cells) -> _Alias:
    kind, parts = _target(row)
    if kind == "none" and not row.text("rule"):
        raise row.error("rule", "must say why the name is not mapped")
    row.required("source")
    return _Alias(
        name=row.required("name"),
        context=row.required("context"),
        kind=kind,
        parts=parts,
        gpu_count=row.positive_or_none("gpu_count"),
        rule=row.text("rule"),
    )


def _target(row: Cells) -> tuple[str, tuple[str, ...]]:
    """Split `resolves_to` into its kind and the parts it names."""
    cell = row.required("resolves_to")
    if cell == "none":
        return "none", ()
    kind, colon, listed = cell.partition(":")
    if not colon:
        kind, listed = "one", cell
    elif kind not in _KINDS:
        raise row.error("resolves_to", "begins with no kind we know")
    parts = tuple(listed.split("|"))
    catalogue = load_catalogue()
    for part in parts:
        if catalogue.get(part) is None and part not in WITHOUT_BANDWIDTH:
            raise row.error("resolves_to", f"names {part!r}, which is no accelerator")
    if (kind in {"ambiguous", "any"}) != (len(parts) > 1):
        raise row.error("resolves_to", "names a wrong number of parts for its kind")
    return kind, parts
