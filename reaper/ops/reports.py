"""The reading questions: one typed method per view or function that an operator looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from psycopg.rows import class_row

from reaper.db.connection import Connection, translated

T = TypeVar("T")

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Health:
    """How things stand; the verdict is PostgreSQL's."""

    verdict: str
    due_rows: int
    oldest_due: datetime | None
    batches_claimed: int
    batches_released: int
    batches_stuck: int
    workers_alive: int
    rows_blocked: int
    objects_queued: int
    objects_dead: int
    invalidations_queued: int
    drift_last_day: int
    refusals: int
    last_finished: datetime | None
    reasons: list[str]
    stuck_since: datetime | None
    judged_at: datetime


@dataclass(frozen=True, slots=True)
class InFlight:
    """The batches of one state."""

    state: str
    batches: int
    oldest: timedelta
    codes: int
    objects: int


@dataclass(frozen=True, slots=True)
class Member:
    """A worker process."""

    worker: str
    alive: bool
    started_at: datetime
    beat_at: datetime
    batches: int
    throttled: str | None


@dataclass(frozen=True, slots=True)
class Speed:
    """What the last batches did; without any run there is no speed."""

    batches: int
    rows_deleted: int
    bytes_freed: int
    seconds: Decimal
    rows_per_second: Decimal | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a drain would do now."""

    rows_due: int
    rows_blocked: int
    oldest_due: datetime | None
    objects_freed: int
    bytes_freed: int
    objects_kept: int
    rows_per_second: Decimal | None


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must be true and is not."""

    invariant: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class Expected:
    """An object that a content row names."""

    object_key: str
    size_bytes: int | None
    content_hash: str


@dataclass(frozen=True, slots=True)
class Known:
    """What PostgreSQL knows about a key: it is content, or its deletion is owed."""

    object_key: str
    place: str
    content_hash: str | None
    size_bytes: int | None

    @property
    def is_content(self) -> bool:
        """Whether its object must be there."""
        return self.place == "content"


@dataclass(frozen=True, slots=True)
class Repair:
    """A ref_count that was set to the number of paste rows."""

    content_hash: str
    was: int | None
    now: int


@dataclass(frozen=True, slots=True)
class RepairedAccount:
    """A backend's byte account that was set to what the rows behind it say."""

    backend: str
    kind: str
    was: Decimal
    now: Decimal


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One check of the database's doctor: ok, warn or fail, and what to do."""

    name: str
    verdict: str
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Shelter:
    """A backend: what lies there, what is owed or announced, and whether it answers."""

    name: str
    quota: int | None
    bytes_used: int
    orphan_bytes: int
    reserved_bytes: int
    state: str
    circuit: str
    retry_at: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the story of a paste or content; the last one, `now`, has no time."""

    at: datetime | None
    subject: str
    event: str
    detail: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a content's bytes lie."""

    backend: str
    object_key: str
    size_bytes: int | None


class Reports:
    """Reading questions on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def health(self) -> Health:
        """How things stand."""
        return self._rows(Health, "select * from reaper.health")[0]

    def in_flight(self) -> list[InFlight]:
        """The batches that are being worked on, by state."""
        return self._rows(
            InFlight,
            "select state, count(*) as batches, max(held_for) as oldest,"
            " sum(codes) as codes, sum(objects) as objects"
            " from reaper.in_flight group by state order by state",
        )

    def fleet(self) -> list[Member]:
        """The worker processes."""
        return self._rows(Member, "select * from reaper.fleet")

    def speed(self) -> Speed:
        """How fast the last batches went."""
        return self._rows(Speed, "select * from reaper.recent_speed()")[0]

    def plan(self) -> Forecast:
        """What a drain would do now."""
        return self._rows(Forecast, "select * from reaper.plan_drain()")[0]

    def violations(self) -> Iterator[Violation]:
        """What is not as it must be inside PostgreSQL; there may be as many as there are rows."""
        with translated(), self._connection.cursor(row_factory=class_row(Violation)) as cursor:
            yield from cursor.stream("select * from reaper.check_invariants()")

    def diagnoses(self) -> list[Diagnosis]:
        """What PostgreSQL says about tables, settings and rights."""
        return [
            diagnosis
            for topic in ("tables", "own_tables", "settings", "rights")
            for diagnosis in self._rows(Diagnosis, f"select * from reaper.diagnose_{topic}()")
        ]

    def expected_objects(self, backend: str) -> Iterator[Expected]:
        """Every object that ought to lie on a backend, in byte order, page by page."""
        after, query = "", "select * from reaper.expected_objects(%s, %s, %s)"
        while page := self._rows(Expected, query, after, PAGE, backend):
            yield from page
            after = page[-1].object_key

    def backends_in_use(self) -> list[str]:
        """The backends on which something lies, or is owed or announced, whatever is configured here."""
        return [row[0] for row in self._all("select backend from reaper.backends_in_use()")]

    def owed(self) -> dict[str, int]:
        """What waits to be deleted, was given up, or is on its way in, by kind."""
        return {row[0]: row[1] for row in self._all("select what, number from reaper.queue_counts()")}

    def known_objects(self, backend: str, keys: Sequence[str]) -> dict[str, Known]:
        """Where PostgreSQL knows these keys from; those that are missing in the answer are nobody's."""
        query = "select object_key, place, content_hash, size_bytes from reaper.known_objects(%s, %s)"
        found: dict[str, Known] = {}
        for known in self._rows(Known, query, backend, list(keys)):
            # Stored content comes first and weighs more than a deletion that is owed.
            found.setdefault(known.object_key, known)
        return found

    def live_pastes(self, hashes: Sequence[str]) -> dict[str, tuple[int, list[str]]]:
        """How many readable pastes each content has, and the first codes."""
        query = "select content_hash, pastes, examples from reaper.live_pastes(%s)"
        return {row[0]: (row[1], row[2]) for row in self._all(query, list(hashes))}

    def check_cached(self, codes: Sequence[str]) -> dict[str, str]:
        """What becomes of the cache entries of these codes."""
        query = "select short_code, judgement from reaper.check_cached(%s)"
        return {row[0]: row[1] for row in self._all(query, list(codes))}

    def backends(self) -> list[Shelter]:
        """Every backend."""
        return self._rows(
            Shelter,
            "select name, quota, bytes_used, orphan_bytes, reserved_bytes,"
            " state, circuit, retry_at, last_error from reaper.backends",
        )

    def why(self, subject: str) -> list[Event]:
        """The story of a paste or content; empty when nothing is known of it."""
        return self._rows(Event, "select * from reaper.why(%s)", subject)

    def copies(self, subject: str) -> list[Copy]:
        """Where the bytes of a content, or of a readable paste, lie."""
        return self._rows(
            Copy,
            "select * from reaper.copies_of(%s)"
            " union select backend, object_key, size_bytes from reaper.get_paste(%s)",
            subject,
            subject,
        )

    def repair_counts(self) -> Iterator[Repair]:
        """Set wrong ref_counts right, page by page."""
        while page := self._rows(Repair, "select * from reaper.repair_counts(%s)", PAGE):
            yield from page

    def repair_accounts(self) -> list[RepairedAccount]:
        """Set wrong byte accounts right."""
        return self._rows(RepairedAccount, "select * from reaper.repair_accounts()")

    def _rows(self, shape: type[T], statement: str, *values: Any) -> list[T]:
        with translated(), self._connection.cursor(row_factory=class_row(shape)) as cursor:
            return cursor.execute(statement, values).fetchall()

    def _all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with translated():
            return self._connection.execute(statement, values).fetchall()
