"""`inferprice check`: a server's sampler path, claimed speed-ups, cold prefix caches, who may call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from app.commands import checking_cors
from app.commands.checking_shared import (
    FILE,
    SHAPE,
    milliseconds,
    number,
    percent,
    print_json,
    printed,
    read_file,
    saying,
    summary_cells,
    summary_heads,
    trap_lines,
)
from app.commands.shared import REFUSED_EXIT, text_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from app.domain.serving.batch import Verdict
    from app.domain.serving.paired import Paired
    from app.domain.serving.prefix_cache import FirstToken, RoutingCost
    from app.domain.serving.printed import Printed
    from app.domain.serving.sampler_remedies import Remedy
    from app.domain.serving.sampler_rules import Field
    from app.domain.serving.timings import Comparison


@click.group()
def check() -> None:
    """Check a serving setup: sampler path, claimed speed-up, cold prefix caches, who may call it."""


@check.command()
@click.argument("requests", type=FILE, metavar="REQUESTS.jsonl")
@click.option("--generation-config", type=FILE, default=None, help="The model's generation_config.json.")
@click.option(
    "--endpoint", type=click.Choice(["chat", "responses", "completions", "generate"]), default="chat"
)
@click.option("--sampling-defaults", type=click.Choice(["model", "openai"]), default="model")
@click.option("--preferred", type=FILE, default=None, help="JSON given to --preferred-sampling-params.")
@click.option("--deterministic", is_flag=True, help="The server runs --enable-deterministic-inference.")
@click.option("--ended", type=int, multiple=True, help="Number of a request that is over; may be repeated.")
@SHAPE
@saying
def sampler(requests: Path, *, endpoint: Any, ended: tuple[int, ...], shape: str, **started: Any) -> None:
    """Say which path SGLang 0.5.20 draws a batch of REQUESTS by, and which of them took it off the fast one.

    REQUESTS holds request bodies, one JSON object a line or an array of them. They count as one batch.
    """
    from app.domain.serving.batch import judge  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.documents import sampler_document  # noqa: PLC0415 - same
    from app.domain.serving.reading import read_documents  # noqa: PLC0415 - same
    from app.domain.serving.sampler import Server  # noqa: PLC0415 - same
    from app.domain.serving.sampler_remedies import remedies  # noqa: PLC0415 - same

    server = Server(
        generation_config=_config(started["generation_config"]),
        sampling_defaults=started["sampling_defaults"],
        preferred=_config(started["preferred"]),
        deterministic=started["deterministic"],
    )
    bodies = read_documents(read_file(requests), requests.name)
    found = judge(bodies, server, endpoint=endpoint, ended=ended)
    ways = remedies(found, server, endpoint=endpoint)
    if shape == "json":
        print_json(sampler_document(found, ways))
    else:
        click.echo("\n".join([*_verdict_lines(found), *_way_lines(ways)]))


def _config(path: Path | None) -> Mapping[Field, Any] | None:
    from app.domain.serving.sampler import read_config  # noqa: PLC0415 - keeps --help quick

    return read_config(read_file(path), path.name) if path else None


_MOST_LINES: Final = 20


def _verdict_lines(found: Verdict) -> list[str]:
    from app.domain.serving.sampler_rules import RULES  # noqa: PLC0415 - keeps --help quick

    if found.path is None:
        return ["No request is left, so the batch has drained: the next one starts afresh."]
    lines = [
        f"{found.path}: {RULES.paths[found.path]}.",
        RULES.means[found.path],
        f"Rules of {RULES.version} ({RULES.commit}).",
    ]
    lines += [reason.sentence for reason in found.reasons[:_MOST_LINES]]
    if len(found.reasons) > _MOST_LINES:
        counts = ", ".join(f"{field} in {count:,}" for field, count in found.counts.items())
        lines.append(f"and {len(found.reasons) - _MOST_LINES:,} more; in all {counts}.")
    if found.kept_by_ended:
        lines.append(
            "None of the requests still running asks for this: one that has ended does. "
            f"In a batch that starts afresh they are on the {found.afresh} path."
        )
    if found.path == "filtered":
        lines.append(RULES.drains)
    return [*lines, *found.notes, RULES.granted]


def _way_lines(ways: Sequence[Remedy]) -> list[str]:
    """Return the ways back to the fast path, each with what it changes besides."""
    lines = ["To the fast path:"] if ways else []
    for at, way in enumerate(ways, start=1):
        lines.append(f"{at}. {' '.join(way.sentences)}")
        if way.moved:
            lines.append(f"   Then {', '.join(each.sentence for each in way.moved)}.")
    return lines


@check.group()
def claim() -> None:
    """Check a claimed speed-up: what it implies, whether figures follow, whether timings differ."""


@claim.command()
@click.option(
    "--saved-ms", type=milliseconds, default=None, help="What a step got shorter by, in ms, or 109 us."
)
@click.option("--gain-percent", type=percent, default=None, help="Claimed gain in tokens a second: 75.")
@click.option(
    "--old-step-ms", type=milliseconds, default=None, help="A step before, in ms unless it says us or s."
)
@click.option("--new-step-ms", type=milliseconds, default=None, help="A step after, the same way.")
@click.option("--streams", type=int, default=1, show_default=True, help="Sequences decoded at once.")
@SHAPE
@saying
def speedup(*, shape: str, **given: Any) -> None:
    """Work out from two of the four figures what the other two must be."""
    from app.domain.serving.arithmetic import speedup_arithmetic  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.documents import speedup_document  # noqa: PLC0415 - same
    from app.domain.serving.speedup import implied  # noqa: PLC0415 - same

    found = implied(**given)
    if shape == "json":
        print_json(speedup_document(found))
    else:
        click.echo("\n".join([found.sentence, *speedup_arithmetic(found)]))


@claim.command()
@click.option(
    "--before", type=printed, required=True, help="The number before, with the digits it was printed."
)
@click.option("--after", type=printed, required=True, help="The number after, the same way.")
@click.option("--stated", type=printed, required=True, help="What is said to follow: 58.6, +58.6 %, 4.8x.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["percent", "times", "difference", "share"]),
    required=True,
    help="What the stated figure is: percent more, times as much, the difference, or the share in percent.",
)
@SHAPE
@saying
def figure(*, before: Printed, after: Printed, stated: Printed, form: Any, shape: str) -> None:
    """Tell whether a stated figure follows from the two numbers beside it. Exit code 3: it does not.

    A percentage or difference without a sign may be the amount of a fall; one with a plus or minus is not.
    """
    from app.domain.serving.arithmetic import follows_arithmetic  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.documents import follows_document  # noqa: PLC0415 - same
    from app.domain.serving.printed import follows_printed  # noqa: PLC0415 - same

    found = follows_printed(before, after, stated=stated, form=form)
    if shape == "json":
        print_json(follows_document(found))
    else:
        more = [each for each in (found.otherwise, found.coarse) if each]
        click.echo("\n".join([found.sentence, *more, *follows_arithmetic(found)]))
    if not found.agrees:
        raise SystemExit(REFUSED_EXIT)


@claim.command()
@click.option("--before", type=FILE, multiple=True, required=True, help="Timings before; may be repeated.")
@click.option("--after", type=FILE, multiple=True, required=True, help="Timings after; may be repeated.")
@click.option("--unit", type=click.Choice(["ms", "tokens/s"]), default="tokens/s", show_default=True)
@click.option("--warm-up", type=click.IntRange(0), default=0, help="Leave out the first N of each set.")
@click.option(
    "--sent", type=click.IntRange(1), default=None, help="Requests kept in flight, where no file says it."
)
@click.option("--foreign-requests", type=click.IntRange(0), default=0, help="Others that ran beside them.")
@click.option("--log", type=FILE, default=None, help="The server's log of that time.")
@click.option("--flag", "flags", multiple=True, help="A flag the claim turns on; the log may say otherwise.")
@SHAPE
@saying
def timings(
    *, before: tuple[Path, ...], after: tuple[Path, ...], unit: Any, shape: str, **known: Any
) -> None:
    """Compare two sets of repeated timings: the same configuration, different, or no finding and why.

    A file has one number a line, a JSON array of numbers, or is a result that `inferprice bench read` knows.
    Of results with several configurations each is compared with its like. Exit code 3: a trap forbids a
    finding.
    """
    from app.domain.serving.documents import changed_document, paired_document  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.paired import compared_timed, read_timed  # noqa: PLC0415 - same
    from app.domain.serving.reading import read_text  # noqa: PLC0415 - same
    from app.domain.serving.traps import Evidence  # noqa: PLC0415 - same

    sets = [
        read_timed(((read_file(path), path.name) for path in files), unit=unit) for files in (before, after)
    ]
    log = known["log"]
    evidence = Evidence(
        sent=known["sent"],
        foreign_requests=known["foreign_requests"],
        log=read_text(read_file(log), log.name) if log else "",
        flags=known["flags"],
    )
    found = compared_timed(*sets, unit=unit, warm_up=known["warm_up"], evidence=evidence)
    if shape == "json":
        print_json({**paired_document(found), "changed": changed_document(found)})
    else:
        click.echo("\n".join(_paired_lines(found)))
    if found.traps:
        raise SystemExit(REFUSED_EXIT)


def _paired_lines(found: Paired) -> Iterator[str]:
    unchecked = found.pairs[0].comparison.unchecked
    changed = [f"Changed: {each.sentence}." for each in found.changed]
    if found.is_one:
        yield from (*_comparison_lines(found.pairs[0].comparison), *changed, *unchecked, found.sentence)
        return
    for pair in found.pairs:
        yield from (pair.title, *_comparison_lines(pair.comparison), pair.comparison.sentence, "")
    for when, titles in (("before", found.only_before), ("after", found.only_after)):
        yield from (f"Timed {when} alone, and compared with nothing: {title}" for title in titles)
    yield from (*changed, *unchecked, found.sentence)


def _comparison_lines(found: Comparison) -> Iterator[str]:
    rows = [["before", *summary_cells(found.before)], ["after", *summary_cells(found.after)]]
    moved = (
        f"Median {found.change_percent:+.1f} %; the ranges share {found.overlap_percent:.0f} % of the whole."
    )
    table = text_table([("Set", False), *summary_heads(found.unit)], rows)
    yield from (table, moved, *trap_lines(found.traps))


@check.command(name="prefix-cache")
@click.option(
    "--context",
    "context_tokens",
    type=number,
    default=None,
    help="Tokens of the context that is asked about again.",
)
@click.option(
    "--prefill",
    "prefill_tokens_per_s",
    type=number,
    default=None,
    help="Prompt tokens a second of one instance.",
)
@click.option(
    "--hit-share", type=number, default=None, help="Share found in a warm cache: 0.93; 1 by default."
)
@click.option("--rest-s", type=number, default=None, help="Seconds of a first token that are no prefill.")
@click.option("--cold-s", type=number, default=None, help="Instead: seconds to a cold first token.")
@click.option("--warm-s", type=number, default=None, help="Instead: seconds to a warm first token.")
@click.option("--instances", type=int, default=2, show_default=True)
@click.option("--requests", type=int, default=10, show_default=True, help="Requests of one session.")
@click.option(
    "--keeps",
    type=click.Choice(["all", "last"]),
    default="all",
    show_default=True,
    help="Who still has the prefix: every instance that has seen it, or only the last one.",
)
@SHAPE
@saying
def prefix_cache(*, instances: int, requests: int, keeps: Any, shape: str, **given: Any) -> None:
    """Say what a cold prefix costs a first token, and how often three routings pay it.

    Without a figure it shows a case that somebody timed: 4.65 s cold and 1.23 s warm.
    """
    from app.domain.serving.documents import routing_document  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.prefix_cache import first_token_of, routing_costs  # noqa: PLC0415 - same

    token = first_token_of(given)
    costs = routing_costs(token, instances=instances, requests=requests, keeps=keeps)
    if shape == "json":
        print_json(routing_document(token, costs))
    else:
        click.echo(_routing_text(token, costs))


def _routing_text(token: FirstToken, costs: Sequence[RoutingCost]) -> str:
    from app.domain.serving.prefix_cache import ASSUMES, told  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.speedup import short  # noqa: PLC0415 - same

    heads = [("Routing", False), ("Cold %", True), ("First token s, mean", True), ("Waited s", True)]
    rows = [
        [
            cost.routing.replace("_", " "),
            told(cost.cold_share * 100, places=1),
            told(cost.mean_s),
            told(cost.waited_s),
        ]
        for cost in costs
    ]
    first = (
        f"First token: {short(token.cold_s)} s cold, {short(token.warm_s)} s warm, {token.times:.2f} times."
    )
    heads = [*heads, ("Assumes that", False)]
    rows = [[*row, ASSUMES[cost.routing]] for row, cost in zip(rows, costs, strict=True)]
    return f"{first}\n{text_table(heads, rows)}"


check.add_command(checking_cors.cors)
