"""What every request of one process shares: the boards, the finished answers, the clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from anyio import CapacityLimiter
from prometheus_client import CollectorRegistry

from app.domain.llms.facts import load_llms
from app.web.answers import Answers
from app.web.claims_days import ClaimDays

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Engine

    from app.domain.llms.facts import Llm
    from app.web.boards import BoardKeeper


PASTED_AT_ONCE: Final = 2
"""Threads that read what was pasted at one time: the costliest takes seconds, and prices are not to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts of a running web process. `clock` returns now, aware and UTC.

    `enabled_sources` are the sources that the settings turn on although they are off by default; `registry`
    holds the figures of this process; `dumps` is the folder of the daily files; `llms` are the models that
    pages are about, those of the operator's own table among them, as they were when the process began;
    `pasted` counts the threads that read what was pasted.
    """

    engine: Engine
    keeper: BoardKeeper
    clock: Callable[[], datetime]
    dumps: Path
    enabled_sources: tuple[str, ...] = ()
    llms: Mapping[str, Llm] = field(default_factory=load_llms)
    answers: Answers = field(default_factory=Answers)
    claim_days: ClaimDays = field(default_factory=ClaimDays)
    pasted: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(PASTED_AT_ONCE))
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
