"""Carries out an operator's duties in a running server: one scrape at a time, and decisions."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from app.domain.duties import DutyError
from app.ingest import quarantine
from app.ingest.sources import SourceError, scrape, sources_now
from app.store.session import make_engine

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from types import TracebackType

    from app.settings import Settings

log = logging.getLogger(__name__)

_THREAD: Final = "asked-scrape"


class Operator:
    """Does what is asked on the database of the settings; the context's end waits for a scrape under way."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._clock = clock
        self._engine = make_engine(settings.database_url)
        # Its thread is made once and knows nothing of the request that asked: not its token either.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=_THREAD)
        self._is_busy = threading.Lock()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Wait for a scrape under way, and leave the database."""
        self._thread.shutdown()
        self._engine.dispose()

    def start_scrape(self, provider: str) -> str:
        """Begin to read a source that is on; raises DutyError, also while another one is being read."""
        try:
            known = {each.scraper.provider: each for each in sources_now(self._engine, self._settings)}
        except SourceError as error:
            raise DutyError(str(error)) from error
        if provider not in known:
            raise DutyError(f"There is no source '{provider[:40]}'; there are {', '.join(sorted(known))}.")
        if not known[provider].is_on:
            raise DutyError(known[provider].why)
        if not self._is_busy.acquire(blocking=False):
            raise DutyError("A source is being read already; ask again when it has ended.")
        self._thread.submit(self._scrape, provider)
        return f"{provider} is being read; how that ends will stand at /status."

    def _scrape(self, provider: str) -> None:
        try:
            for ended in scrape(self._engine, self._settings, providers=[provider], clock=self._clock):
                log.info("%s", ended.sentence)
        except Exception:
            log.exception("The scrape of %s that was asked for broke.", provider)
        finally:
            self._is_busy.release()

    def decide(self, number: int, *, approve: bool, because: str) -> str:
        """Publish held offers, or leave them out; raises DutyError for a number that is not to be decided."""
        act = quarantine.approve if approve else quarantine.reject
        try:
            return act(self._engine, number, because=because, now=self._clock()).sentence
        except quarantine.QuarantineError as error:
            raise DutyError(str(error)) from error
