"""Claim, drop, finish: the drain, as PostgreSQL sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import (
    START,
    Batch,
    Claim,
    Cursor,
    Figures,
    Taken,
    Unfinished,
    object_refs,
)
from reaper.queries.base import Area, commits, reads
from reaper.queries.failure_arguments import Failures

# Arrays in binary are read quicker than rows.
OBJECTS = "content_hashes, backends, object_keys, sizes"

# A moment that Python cannot name is left out.
OLDEST = "nullif(oldest_due, '-infinity') as oldest_due"
FORECAST = (
    f"rows_due, rows_blocked, {OLDEST}, objects_freed, bytes_freed, objects_kept, rows_per_second,"
    " rows_in_progress, objects_unsized, exact"
)
PAGE = (
    f"counted_at, rows_due, rows_blocked, rows_in_progress, {OLDEST}, objects_freed, bytes_freed,"
    " objects_unsized, objects_kept, last_expires_at::text, last_short_code, judged"
)


@dataclass(frozen=True, slots=True)
class DrainForecast:
    """What a drain would do now; counted where it is exact, else estimated.

    Of the due rows some are blocked for now, and some are claimed by other workers. The bytes are those of
    objects whose size is known.
    """

    rows_due: int
    rows_blocked: int
    oldest_due: datetime | None
    objects_freed: int
    bytes_freed: int
    objects_kept: int
    rows_per_second: Decimal | None
    rows_in_progress: int = 0
    objects_unsized: int = 0
    exact: bool = True


@dataclass(frozen=True, slots=True)
class PlanPage:
    """What a drain would do with some of the due rows, and where the next page begins."""

    counted_at: datetime
    rows_due: int
    rows_blocked: int
    rows_in_progress: int
    oldest_due: datetime | None
    objects_freed: int
    bytes_freed: int
    objects_unsized: int
    objects_kept: int
    last_expires_at: str | None
    last_short_code: str | None
    # Contents that later pages name too, and that are counted here.
    judged: list[str]

    @property
    def cursor(self) -> Cursor:
        """The end of this page."""
        return Cursor(self.last_expires_at or START.expires_at, self.last_short_code)


class Expiry(Area):
    """Claim, drop, finish: the drain, as PostgreSQL sees it."""

    @commits
    def claim_expired(self, limit: int, worker: str, cursor: Cursor) -> Claim | None:
        """Mark the oldest due rows from the cursor on; None when there are none."""
        return self._db.one(
            Claim,
            "select batch_id, claimed, last_expires_at::text, last_short_code"
            "  from reaper.claim_expired(%s, %s, %s, %s)",
            limit,
            worker,
            cursor.expires_at,
            cursor.short_code,
        )

    @commits
    def unblock(self, short_code: str | None, reason: str) -> int:
        """Let the next claim take a blocked row, or all of them; returns how many."""
        return int(self._db.value("select reaper.unblock(%s, %s)", short_code, reason))

    @reads
    def count_left_behind(self) -> int:
        """How many due rows no worker holds: not claimed and not blocked, or left by a drop."""
        return int(self._db.value("select reaper.count_left_behind()"))

    @reads
    def unfinished_work(self, worker: str) -> Unfinished:
        """What other workers than this one hold, and what waits in the queues."""
        return self._db.only(Unfinished, "select * from reaper.unfinished_work(%s)", worker)

    @reads
    def count_due(self) -> int:
        """How many rows are due and not claimed."""
        return int(self._db.value("select reaper.count_due()"))

    @commits
    def drop_batch(self, batch_id: UUID) -> Batch:
        """Release the rows and references of a batch; what is left to delete outside comes back."""
        [(codes, awaits_standby, *columns)] = self._db.tuples(
            f"select short_codes, awaits_standby, {OBJECTS} from reaper.drop_batch(%s)", batch_id, binary=True
        )
        return Batch(batch_id, tuple(codes), object_refs(columns), awaits_standby)

    @reads
    def reaps_directly(self) -> bool:
        """Whether settings.claim_mode says that due rows are released without being marked first."""
        return bool(self._db.value("select reaper.reaps_directly()"))

    @commits
    def reap_batch(self, limit: int, worker: str, cursor: Cursor) -> Taken | None:
        """Release the oldest due rows from the cursor on, without marking them; None when there are none."""
        rows = self._db.tuples(
            "select batch_id, last_expires_at::text, last_short_code, short_codes, awaits_standby,"
            f" {OBJECTS} from reaper.reap_batch(%s, %s, %s, %s)",
            limit,
            worker,
            cursor.expires_at,
            cursor.short_code,
            binary=True,
        )
        for batch_id, last_expires_at, last_code, codes, awaits_standby, *columns in rows:
            batch = Batch(batch_id, tuple(codes), object_refs(columns), awaits_standby)
            return Taken(Cursor(last_expires_at or START.expires_at, last_code), batch)
        return None

    @commits
    def finish_batch(self, batch_id: UUID, failures: Failures) -> Figures:
        """Settle a batch; what failed goes to the queues."""
        figures = self._db.one(
            Figures, "select * from reaper.finish_batch(%s, %s)", batch_id, Jsonb(list(failures))
        )
        return figures or Figures()

    @reads
    def estimate_drain(self) -> DrainForecast:
        """What a drain would do now, at once: few due rows are counted, many are estimated."""
        return self._db.only(DrainForecast, f"select {FORECAST} from reaper.estimate_drain()")

    @reads
    def plan_page(self, now: datetime | None, cursor: Cursor, limit: int, judged: Sequence[str]) -> PlanPage:
        """What a drain would do with the next due rows; `judged` are the contents that pages before named."""
        return self._db.only(
            PlanPage,
            f"select {PAGE} from reaper.plan_page(%s, %s, %s, %s, %s)",
            now,
            cursor.expires_at,
            cursor.short_code,
            limit,
            list(judged),
        )
