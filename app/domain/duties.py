"""What may be started and decided from afar: the two duties of an operator, whoever carries them out."""

from __future__ import annotations

from typing import Protocol


class DutyError(ValueError):
    """A duty that cannot be done; the message is a sentence that says why."""


class Duties(Protocol):
    """Carries out what an operator asks for; each answers in a sentence, or raises DutyError."""

    def start_scrape(self, provider: str) -> str:
        """Begin to read a source in the background."""

    def decide(self, number: int, *, approve: bool, because: str) -> str:
        """Publish held offers, or leave them out, and note why."""
