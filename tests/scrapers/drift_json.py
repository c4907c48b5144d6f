"""Changes to RunPod's answer: keys, values, flags, entries and the envelope."""

# ruff: noqa: ARG001 - every change has one signature, whatever it uses of it

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.scrapers.truth import Key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scrapers.drift import Dice

Entries = list[dict[str, Any]]
Truth = dict[Key, Decimal]
FLAGS = ("secureCloud", "communityCloud")
PRICES = ("securePrice", "communityPrice")
FIELDS = ("id", "displayName", "memoryInGb", *FLAGS, *PRICES)


def some(entries: Entries, dice: Dice) -> Entries:
    """Return one entry that is sold, or all."""
    sold = [entry for entry in entries if any(entry.get(flag) is True for flag in FLAGS)]
    return entries if dice.flip() or not sold else [dice.pick(sold)]


def forget(truth: Truth, entries: Entries) -> None:
    for key in [key for key in truth if key.name in {entry.get("id") for entry in entries}]:
        del truth[key]


def rename(truth: Truth, old: str, new: str) -> None:
    for key in [key for key in truth if key.name == old]:
        truth[Key(new, key.region, key.kind, key.valid_from, key.gpu_count)] = truth.pop(key)


def rename_key(entries: Entries, truth: Truth, dice: Dice) -> None:
    old = dice.pick(FIELDS)
    new = dice.pick(["price", old + "s", old.upper(), "usd", "lowestPrice", "name"])
    for entry in some(entries, dice):
        if old in entry:
            entry[new] = entry.pop(old)


def swap_keys(entries: Entries, truth: Truth, dice: Dice) -> None:
    """Values under each other's keys; a display name as id is a new name for the same thing."""
    one, two = dice.pick(
        [("securePrice", "communityPrice"), ("memoryInGb", "securePrice"), ("id", "displayName")]
    )
    chosen = entries if one == "securePrice" else some(entries, dice)
    for entry in chosen:
        if one == "id":
            rename(truth, str(entry.get("id")), str(entry.get("displayName")))
        else:
            forget(truth, [entry])
        entry[one], entry[two] = entry.get(two), entry.get(one)


def text_for_number(entries: Entries, truth: Truth, dice: Dice) -> None:
    key, form = (
        dice.pick([*PRICES, "memoryInGb"]),
        dice.pick(["{}", "${}", "{} USD", "{}*", "{}^2", "€{}", ""]),
    )
    for entry in some(entries, dice):
        entry[key] = form.format(entry.get(key))


def odd_number(entries: Entries, truth: Truth, dice: Dice) -> None:
    key, value = dice.pick(PRICES), dice.pick([None, -1, True, [], {}, -3.49, [3.49], {"usd": 3.49}])
    for entry in some(entries, dice):
        entry[key] = value


def other_unit(entries: Entries, truth: Truth, dice: Dice) -> None:
    """Cents, months, seconds, minutes, or dollars for eight GPUs, in every price of the answer."""
    factor = dice.pick([100, 730, 1 / 3600, 1 / 60, 1000])
    forget(truth, entries)
    for entry in entries:
        for key in PRICES:
            if isinstance(entry.get(key), float | int):
                entry[key] = round(entry[key] * factor, 8)


def cents_once(entries: Entries, truth: Truth, dice: Dice) -> None:
    """One cloud's price in cents, of one GPU or of all."""
    chosen = some(entries, dice)
    key, flag, kind = dice.pick(
        [("securePrice", FLAGS[0], "on_demand"), ("communityPrice", FLAGS[1], "community")]
    )
    for entry in chosen:
        if entry.get(flag) is True:
            truth.pop(Key(str(entry.get("id")), "", kind, "", 1), None)
        if isinstance(entry.get(key), float | int):
            entry[key] = round(entry[key] * 100, 4)


def drop_entries(entries: Entries, truth: Truth, dice: Dice) -> None:
    for _ in range(dice.number(1, len(entries) // 2)):
        entries.pop(dice.number(0, len(entries) - 1))


def rename_id(entries: Entries, truth: Truth, dice: Dice) -> None:
    """A new id is a new thing: the careful reader takes it under its new name."""
    entry = dice.pick([one for one in entries if "id" in one] or [{}])
    old = str(entry.get("id"))
    entry["id"] = dice.pick([old + " 2", old.replace("NVIDIA", "Nvidia Corp"), "NVIDIA X1000", old + " MIG"])
    rename(truth, old, entry["id"])


def swap_ids(entries: Entries, truth: Truth, dice: Dice) -> None:
    """Exchange the ids of two GPUs whose memory or display names then contradict them."""
    one, two = dice.pick(entries), dice.pick(entries)
    shared = set(str(one.get("displayName")).split()) & set(str(two.get("displayName")).split())
    if shared - {"RTX", "PRO", "Ada", "Ti", "SXM"} and one.get("memoryInGb") == two.get("memoryInGb"):
        return  # two variants of one family with one memory size
    if {one.get("id"), two.get("id")} & {"unknown", "NVIDIA Rubin Test Board"} or "MIG" in f"{one} {two}":
        return  # names we do not know have nothing to contradict
    forget(truth, [one, two])
    one["id"], two["id"] = two.get("id"), one.get("id")


def drop_flags(entries: Entries, truth: Truth, dice: Dice) -> None:
    for entry in some(entries, dice):
        for flag in FLAGS if dice.flip() else [dice.pick(FLAGS)]:
            entry.pop(flag, None)


def odd_flags(entries: Entries, truth: Truth, dice: Dice) -> None:
    value = dice.pick(["true", "false", 1, 0, None, "", [], "yes"])
    for entry in some(entries, dice):
        entry[dice.pick(FLAGS)] = value


def sold_nowhere(entries: Entries, truth: Truth, dice: Dice) -> None:
    """A flag that became false: the price it leaves behind is none."""
    chosen, flag = some(entries, dice), dice.pick(FLAGS)
    kind = "on_demand" if flag == "secureCloud" else "community"
    for entry in chosen:
        entry[flag] = False
    for key in [
        key for key in truth if key.kind == kind and key.name in {entry.get("id") for entry in chosen}
    ]:
        del truth[key]


def extra_keys(entries: Entries, truth: Truth, dice: Dice) -> None:
    key = dice.pick(["secureSpotPrice", "priceInCents", "currency", "oneMonthPrice", "stockStatus"])
    value = dice.pick([0.11, "USD", None, {"price": 1}, 349])
    for entry in some(entries, dice):
        entry[key] = value


def repeat_entry(entries: Entries, truth: Truth, dice: Dice) -> None:
    entry = dict(dice.pick(entries))
    entry[dice.pick(PRICES)] = 1.11
    forget(truth, [entry])
    entries.insert(dice.number(0, len(entries)), entry)


def shuffle(entries: Entries, truth: Truth, dice: Dice) -> None:
    entries.sort(key=lambda entry: str(entry.get(dice.pick(["displayName", "memoryInGb", "securePrice"]))))
    entries.reverse()


def other_memory(entries: Entries, truth: Truth, dice: Dice) -> None:
    """Memory in bytes or megabytes, or that of another card; the price stays what it was."""
    factor = dice.pick([1024, 10**9, 2, 0.5])
    for entry in some(entries, dice):
        if isinstance(entry.get("memoryInGb"), int | float):
            entry["memoryInGb"] = int(entry["memoryInGb"] * factor)


CHANGES: tuple[Callable[[Entries, Truth, Dice], None], ...] = (
    rename_key, swap_keys, text_for_number, odd_number, other_unit, cents_once, drop_entries, rename_id,
    swap_ids, drop_flags, odd_flags, sold_nowhere, extra_keys, repeat_entry, shuffle, other_memory,
)  # fmt: skip


NAMING = (rename_id, swap_keys, swap_ids)
SCALING = (other_unit, cents_once, swap_keys)


def out_of_reach(earlier: list[str], change: Callable[..., Any]) -> bool:
    """Say whether two changes could together give a possible answer.

    A GPU with a name nobody knows and a price in cents is contradicted by nothing, and neither are prices
    taken times 100 and then through 60.
    """
    names, scales = ({one.__name__ for one in kind} for kind in (NAMING, SCALING))
    kinds = names | scales if change.__name__ in scales else scales if change.__name__ in names else set()
    return bool(kinds & set(earlier))


def envelope(text: str, truth: Truth, dice: Dice) -> bytes:
    """Return the answer cut off, wrapped, renamed, as an error, or written another way."""
    kind = dice.pick(["cut", "html", "renamed", "error", "list", "commas", "twice", "nan", "compact"])
    if kind == "cut":
        return text[: dice.number(0, len(text.rstrip()) - 1)].encode()
    if kind == "commas":  # decimal commas as some servers write them
        return text.replace(".", ",").encode()
    if kind == "compact":
        return json.dumps(json.loads(text), separators=(",", ":")).encode()
    return {
        "html": f"<html><body><pre>{text}</pre></body></html>",
        "renamed": text.replace('"gpuTypes"', '"gpus"'),
        "error": text.rstrip()[:-1] + ', "errors": [{"message": "Too many requests"}]}',
        "list": json.dumps(json.loads(text)["data"]["gpuTypes"]),
        "twice": text.replace('"securePrice":', '"securePrice": 1.11, "securePrice":', 1),
        "nan": text.replace('"securePrice": 3', '"securePrice": NaN, "x": 3', 1),
    }[kind].encode()


def unchanged(body: bytes) -> bytes:
    """Return the answer as `mutate` would write it without a change."""
    return json.dumps(json.loads(body), indent=1).encode()


def mutate(body: bytes, truth: Truth, dice: Dice) -> tuple[bytes, list[str]]:
    """Return a changed answer and the names of the changes; the truth is changed in place."""
    answer = json.loads(body)
    names = []
    for _ in range(dice.pick([1, 1, 1, 2])):
        change = dice.pick((*CHANGES, envelope))
        if out_of_reach(names, change):
            continue
        names.append(change.__name__)
        if change is envelope:
            return envelope(json.dumps(answer, indent=1), truth, dice), names
        change(answer["data"]["gpuTypes"], truth, dice)
        if change is repeat_entry:
            break  # a second change could make two things of the two entries
    return json.dumps(answer, indent=1).encode(), names
