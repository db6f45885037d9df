"""Claim, drop, finish: the drain, as PostgreSQL sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import (
    Batch,
    Claim,
    Cursor,
    Figures,
    object_refs,
)
from reaper.queries.base import Area, commits, reads
from reaper.queries.failure_arguments import Failures

# One round trip instead of two, and arrays, which are read quicker than rows, in binary quicker still. The
# codes come last: an aggregate is known when all is released.
RELEASE = """
select reaper.released_codes(%s), reaper.waits_for_standby(), o.*
  from (select coalesce(array_agg(d.content_hash), '{}'), coalesce(array_agg(d.backend), '{}'),
               coalesce(array_agg(d.object_key), '{}'), coalesce(array_agg(d.size_bytes), '{}')
          from reaper.drop_references(%s) as d) as o
"""


@dataclass(frozen=True, slots=True)
class DrainForecast:
    """What a drain would do now."""

    rows_due: int
    rows_blocked: int
    oldest_due: datetime | None
    objects_freed: int
    bytes_freed: int
    objects_kept: int
    rows_per_second: Decimal | None


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

    @reads
    def count_due(self) -> int:
        """How many rows are due and not claimed."""
        return int(self._db.value("select reaper.count_due()"))

    @commits
    def drop_references(self, batch_id: UUID) -> Batch:
        """Release the rows and references of a batch; what is left to delete outside comes back."""
        codes, awaits_standby, *columns = self._db.tuples(RELEASE, batch_id, batch_id, binary=True)[0]
        return Batch(batch_id, tuple(codes), object_refs(columns), awaits_standby)

    @commits
    def finish_batch(self, batch_id: UUID, failures: Failures) -> Figures:
        """Settle a batch; what failed goes to the queues."""
        figures = self._db.one(
            Figures, "select * from reaper.finish_batch(%s, %s)", batch_id, Jsonb(list(failures))
        )
        return figures or Figures()

    @reads
    def plan_drain(self) -> DrainForecast:
        """What a drain would do now."""
        return self._db.only(DrainForecast, "select * from reaper.plan_drain()")
