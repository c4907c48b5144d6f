"""What to know before trusting a plan of llama.cpp's expert cache, said in the numbers of the model itself.

Each stands in `expert_cache.SOURCE`. That a pool is too small for one token where its slots are fewer than
the group's layers times the experts that a token uses in one follows from how it evicts: the least recently
used first, and layers come round in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.findings import Finding, Level
from app.domain.serving.expert_cache import MOST_BATCH_TOKENS
from app.domain.serving.figures import counted_as

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.serving.expert_cache import Experts, Group, Plan


def cautions(plan: Plan) -> tuple[Finding, ...]:
    """Return what this budget does wrong, as warnings, and then what holds for every budget."""
    return (*_of_budget(plan), *_of_steps(plan.experts), *_of_layers(plan.experts))


def _of_budget(plan: Plan) -> Iterator[Finding]:
    if not plan.starts:
        yield _warning(
            "does_not_start",
            f"At {plan.budget_mib:,} MiB no group holds the experts of one token, and the server does not"
            f" start; it does from {plan.starts_from_mib:,} MiB.",
        )
        return
    for number, group in enumerate(plan.groups, start=1):
        yield from _of_group(group, number, used=plan.experts.used)


def _of_group(group: Group, number: int, *, used: int) -> Iterator[Finding]:
    layers = len(group.layers)
    if not group.slots:
        yield _warning(
            "group_not_cached",
            f"Group {number}: not cached below {group.floor_mib:,} MiB.",
        )
    elif group.slots < layers * used:
        yield _warning(
            "near_the_floor",
            f"Group {number}: one token uses {counted_as(used, 'expert')} in each of"
            f" {counted_as(layers, 'layer')}, and {counted_as(group.slots, 'slot')}"
            f" {'does' if group.slots == 1 else 'do'} not hold them: a layer evicts what the next token would"
            " have found. They fit from"
            f" {group.whole_token_mib:,} MiB. At its floor the cache was measured slower than none.",
        )
    elif group.largest_batch_tokens < MOST_BATCH_TOKENS:
        most = counted_as(group.largest_batch_tokens, "token")
        yield _warning(
            "small_batches_only",
            f"Group {number}: steps of more than {most} are not served, as they may use more experts of a"
            " layer than there are slots.",
        )


def _of_steps(experts: Experts) -> Iterator[Finding]:
    """Say what makes a step larger than one token."""
    four = min(4 * experts.used, experts.per_layer)
    yield _note(
        "skipped_past_32",
        f"Past {MOST_BATCH_TOKENS} tokens a step does not use the slots: so most of a prompt, and a step that"
        " carries a prompt beside replies.",
    )
    yield _note(
        "concurrency",
        "Each request decoded at once adds a token to the step, with experts of its own: four use up to"
        f" {four} of {experts.per_layer} in a layer, one uses {experts.used}.",
    )
    yield _note(
        "speculative_drafts",
        "A speculative draft adds its tokens to the step in the same way, for each request; the draft model"
        " itself has no cache.",
    )


def _of_layers(experts: Experts) -> Iterator[Finding]:
    if experts.mtp_layers:
        yield _note(
            "mtp_layers",
            f"Layers that predict further tokens are counted here and may not be loaded:"
            f" {', '.join(map(str, experts.mtp_layers))}.",
        )


def _warning(code: str, sentence: str) -> Finding:
    return Finding(code=code, level=Level.WARNING, sentence=sentence)


def _note(code: str, sentence: str) -> Finding:
    return Finding(code=code, level=Level.INFO, sentence=sentence)
