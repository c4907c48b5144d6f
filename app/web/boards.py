"""Keeps boards in memory: the current one, a few past days, and the last good one in an outage."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from zlib import crc32

from sqlalchemy.exc import SQLAlchemyError

from app import __version__
from app.domain.accelerators import with_other_figures
from app.domain.board import Board, build_board, with_catalogue, with_offers
from app.domain.names import fold
from app.domain.providers import load_providers
from app.domain.query import DEFAULT_PER_PAGE, OfferQuery, Vocabulary, board_query, make_vocabulary
from app.domain.quotes import to_stored
from app.domain.shown import DOLLARS
from app.store import queries
from app.store.rates import rates_at
from app.store.session import reading
from app.web.answers import http_date
from app.web.first_reading import first_reading

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from sqlalchemy import Connection, Engine

    from app.domain.accelerators import Catalogue
    from app.domain.board import Selection
    from app.domain.names import Names
    from app.domain.quotes import OwnHardware, Quote
    from app.domain.rows import Row

log = logging.getLogger(__name__)

CHECK_EVERY_S: Final = 1.0
"""How often the store is asked whether anything was published."""

PAST_BOARDS: Final = 6
"""Past days kept in memory."""


class NoBoardError(Exception):
    """The store cannot be read and no board is in memory."""


RENDERED_VIEWS: Final = 8
"""Sets of columns and figures, as HTML or as JSON, for which a board keeps its rendered rows."""

RENDERED_ROWS: Final = 60_000
"""Rendered rows that a board keeps in all, of about a kilobyte each; the set begun first makes room."""

KEPT_PARTS: Final = 64
"""Parts of pages that a board keeps beside its rows."""

T = TypeVar("T")


Form = Literal["html", "json"]
"""What rows are rendered as."""

Figures = tuple[object, ...]
"""What rendered rows depend on: see `figures_of`."""


def figures_of(query: OfferQuery, form: Form) -> Figures:
    """Return the parts of a query that its rows, once chosen, are rendered by."""
    shown = (query.period, query.per, query.currency)
    return (form, query.columns, query.precision, query.weights_gb, query.baseline, query.as_of, shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A board to answer from. `token` changes whenever an answer could; `outage` says the store is away.

    `last_modified` is the HTTP date of its answers (see `BoardKeeper`), empty when they can have none.
    `newest` and `oldest` are when the offers on it were last seen, `first_day` the first day with a price.
    `notice` says how the first reading of the sources goes, while none has been read well. `is_private` says
    that the reader's own offers are on the board, so that no answer of it may be kept.
    """

    board: Board
    words: Vocabulary
    token: str
    outage: bool
    first_day: date | None
    newest: datetime | None
    oldest: datetime | None
    all_stale: bool
    notice: str = ""
    is_private: bool = False
    last_modified: str = ""
    _rendered: OrderedDict[Figures, dict[int, bytes]] = field(default_factory=OrderedDict)
    _parts: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    def rendered(
        self, selection: Selection, form: Form, *, renderer: Callable[[], Callable[[Row], bytes]]
    ) -> list[bytes]:
        """Return the asked rows in a form. A row is rendered once for each set of columns and figures.

        `renderer` makes what renders a row; it is called only when a row is missing.
        """
        made = self._made(figures_of(selection.query, form))
        try:
            return [made[number] for number in selection.rows]
        except KeyError:
            render = renderer()
            for number in selection.rows:
                if number not in made:
                    made[number] = render(self.board.rows[number])
            return [made[number] for number in selection.rows]

    def _made(self, figures: Figures) -> dict[int, bytes]:
        found = self._rendered.get(figures)
        if found is None:
            found = self._rendered[figures] = {}
            while len(self._rendered) > 1 and (
                len(self._rendered) > RENDERED_VIEWS or sum(map(len, self._rendered.values())) > RENDERED_ROWS
            ):
                self._rendered.popitem(last=False)
        return found

    def is_warm(self, query: OfferQuery, form: Form) -> bool:
        """Tell whether a page takes a few milliseconds at most: nothing has to be sorted or searched for it.

        At worst its 100 rows are rendered.
        """
        short = query.per_page <= DEFAULT_PER_PAGE and not query.q
        return short and figures_of(query, form) in self._rendered and self.board.has_order(query)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a part of pages that holds for the whole board, made when first asked for."""
        found: T | None = self._parts.get(key)
        if found is None:
            found = self._parts[key] = make()
            while len(self._parts) > KEPT_PARTS:
                self._parts.popitem(last=False)
        return found


def with_own(served: Served, quotes: Sequence[Quote | OwnHardware]) -> Served:
    """Return a board with the reader's own offers on it, kept by nobody."""
    board = served.board
    own = to_stored(quotes, instant=board.instant, catalogue=board.catalogue)
    return replace(served, board=with_offers(board, own), is_private=True, **_nothing_kept())


def with_spec(served: Served, spec: str) -> Served:
    """Return a board with the published figures that `spec` names; that of the alternative ones is kept."""
    if spec == "main":
        return served

    def make() -> Served:
        board = with_catalogue(served.board, with_other_figures(served.board.catalogue))
        return replace(served, board=board, token=f"{served.token}.{spec}", **_nothing_kept())

    return served.kept(("spec", spec), make)


def _nothing_kept() -> dict[str, Any]:
    return {"_rendered": OrderedDict(), "_parts": OrderedDict()}


def board_for(keeper: BoardKeeper, pairs: Iterable[tuple[str, str]], *, today: date) -> Served:
    """Return the board that decoded pairs ask for: of now or of a past day, with the figures they name.

    The reader's own offers among the pairs are on it, and with own measurements it is private as well.
    Raises QueryError.
    """
    pairs = tuple(pairs)
    asked = board_query(pairs, today=today, variants=keeper.variants)
    served = keeper.current() if asked.as_of is None else keeper.as_of(asked.as_of)
    served = with_spec(served, asked.spec)
    if any(name == "measured" for name, _ in pairs):
        served = replace(served, is_private=True, **_nothing_kept())
    return with_own(served, (*asked.quote, *asked.own)) if asked.has_own else served


def serve(board: Board, vocabulary: Vocabulary, *, token: str, first_day: date | None) -> Served:
    """Return a board with what pages say about its age."""
    seen = [row.stored.last_seen_at for row in board.rows]
    return Served(
        board=board,
        words=vocabulary,
        token=token,
        outage=False,
        first_day=first_day,
        newest=max(seen, default=None),
        oldest=min(seen, default=None),
        all_stale=bool(seen) and all(row.is_stale for row in board.rows),
    )


class BoardKeeper:
    """The boards of one process. Reading is free of locks; building is done once under one.

    An answer is dated by when this process began to answer from the current board: never before the data
    changed, the hour turned, the day ended, a notice or an outage began or the program was started anew, all
    of which can change an answer. The boards of past days, which are dropped with the current one, have its
    date. A date has whole seconds, so a board that comes in the same second as the one before, or after the
    clock was set back, has none: its answers are told apart by their tags alone.
    """

    def __init__(self, engine: Engine, catalogue: Catalogue, clock: Callable[[], datetime]) -> None:
        self._engine = engine
        self._catalogue = catalogue
        self._variants = fold(catalogue.by_id)
        self._clock = clock
        self._lock = threading.Lock()
        self._checked_at = float("-inf")
        self._current: Served | None = None
        self._key: tuple[int, str] | None = None
        self._past: OrderedDict[tuple[date, int], Served] = OrderedDict()
        self._was_read = False
        self._dated: datetime | None = None

    @property
    def catalogue(self) -> Catalogue:
        """Return the accelerators that every board is built with."""
        return self._catalogue

    @property
    def variants(self) -> Names:
        """Return the names of variants that every board knows."""
        return self._variants

    def fresh(self) -> Served | None:
        """Return the board of now when the store need not be asked for it, else None; never waits."""
        return self._current if time.monotonic() - self._checked_at < CHECK_EVERY_S else None

    def current(self) -> Served:
        """Return the board of now, rebuilt when something was published or an hour has passed.

        In an outage of the store the last board is returned, marked. Raises NoBoardError when there is none.
        """
        fresh = self.fresh()
        if fresh is not None:
            return fresh
        served = self._current
        # Whoever comes while the store is being asked gets the last board: a slow store slows one reader.
        if not self._lock.acquire(blocking=served is None):
            assert served is not None  # noqa: S101 - only then is the lock not waited for
            return served
        try:
            return self._refresh()
        finally:
            self._lock.release()

    def as_of(self, day: date) -> Served:
        """Return the board of a day's last second in UTC; today's is the current one."""
        served = self.current()
        if self._key is None or day >= served.words.today:
            return served
        version = self._key[0]
        with self._lock:
            found = self._past.get((day, version))
            if served.outage:
                return replace(_in_outage(found, day), last_modified=served.last_modified)
            if found is None:
                found = self._load_past(day, version, self._current or served)
                self._past[day, version] = found
                while len(self._past) > PAST_BOARDS:
                    self._past.popitem(last=False)
            self._past.move_to_end((day, version))
        return found

    def _refresh(self) -> Served:
        fresh = self.fresh()
        if fresh is not None:
            return fresh
        served, now = self._current, self._clock()
        try:
            served = self._read(now)
        except SQLAlchemyError as error:
            if served is None:
                raise NoBoardError("the database cannot be read") from error
            if not served.outage:
                log.exception("The store cannot be read; the last board keeps serving")
                served = _in_outage(served, now.date())
        if served is not self._current:
            served = replace(served, last_modified=self._date(now))
        self._current = served
        self._checked_at = time.monotonic()
        return served

    def _date(self, now: datetime) -> str:
        """Return the HTTP date of a board that is new now."""
        second = now.replace(microsecond=0)
        if self._dated is not None and second <= self._dated:
            return ""
        self._dated = second
        return http_date(second)

    def _read(self, now: datetime) -> Served:
        with reading(self._engine) as connection:
            version = queries.data_version(connection)
            key = (version, f"{now:%Y%m%d%H}")
            token = f"{__version__}.{version}.{key[1]}"
            notice = self._first_reading(connection)
            if self._current is not None and self._key == key and not self._current.outage:
                return _with_notice(self._current, notice, token=token)
            stored = queries.offers_as_of(connection, now)
            rates = rates_at(connection, now.date())
            providers, regions = queries.known_names(connection)
            first = queries.first_day(connection)
        words = make_vocabulary(
            self._catalogue,
            providers=[*load_providers(), *providers],
            regions=regions,
            currencies=rates,
            today=now.date(),
        )
        self._key = key
        self._past.clear()
        board = build_board(stored, self._catalogue, instant=now, rates=rates)
        served = serve(board, words, token=token, first_day=first.date() if first else None)
        return _with_notice(served, notice, token=token)

    def _first_reading(self, connection: Connection) -> str:
        """Return how the first reading goes; once a source has been read well it is not asked for again."""
        if self._was_read:
            return ""
        notice = first_reading(connection)
        self._was_read = notice is None
        return notice or ""

    def _load_past(self, day: date, version: int, current: Served) -> Served:
        instant = last_second_of(day)
        try:
            with reading(self._engine) as connection:
                stored = queries.offers_as_of(connection, instant)
                rates = rates_at(connection, day)
        except SQLAlchemyError as error:
            raise NoBoardError(_without(day)) from error
        board = build_board(stored, self._catalogue, instant=instant, rates=rates)
        # The page of a past day also names today, the last day that can be asked for.
        token = f"{__version__}.{version}.{day:%Y%m%d}.{current.words.today:%Y%m%d}"
        words = replace(current.words, currencies=fold([DOLLARS, *rates]))
        served = serve(board, words, token=token, first_day=current.first_day)
        return replace(served, last_modified=current.last_modified)


def _with_notice(served: Served, notice: str, *, token: str) -> Served:
    """Return a board that says this; its rows are the same, its token and the parts of its pages are not."""
    if served.notice == notice:
        return served
    own = f"{token}.{crc32(notice.encode()):08x}" if notice else token
    return replace(served, token=own, notice=notice, _parts=OrderedDict())


def _in_outage(served: Served | None, day: date) -> Served:
    """Return a board as the last that could be read; raises NoBoardError when there is none."""
    if served is None:
        raise NoBoardError(_without(day))
    # Its rows are the same; parts of its pages are not, as they say that the database is away.
    return replace(served, token=f"{served.token}.outage", outage=True, _parts=OrderedDict())


def _without(day: date) -> str:
    return f"the database cannot be read, so the board of {day} is not available"


def last_second_of(day: date) -> datetime:
    """Return the last second of a day in UTC, the instant that stands for the day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1, seconds=-1)
