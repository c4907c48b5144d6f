"""What every request of one process shares: the boards, the finished answers, the clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.web.answers import Answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

    from app.web.boards import BoardKeeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts of a running web process. `clock` returns now, aware and UTC."""

    engine: Engine
    keeper: BoardKeeper
    clock: Callable[[], datetime]
    answers: Answers = field(default_factory=Answers)
