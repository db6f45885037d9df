"""Deletions that failed before and are tried again."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import (
    ObjectRef,
    RetryLease,
    Waiting,
)
from reaper.queries.base import Area, commits, reads
from reaper.queries.failure_arguments import Failures


class Cleanup(Area):
    """Deletions that failed before and are tried again."""

    @commits
    def claim_cleanup(
        self, limit: int, backend: str | None = None, due_before: datetime | None = None
    ) -> RetryLease | None:
        """Lease objects whose deletion is due for another try."""
        rows = self._db.tuples("select * from reaper.claim_cleanup(%s, %s, %s)", limit, backend, due_before)
        return RetryLease(rows[0][0], objects=tuple(ObjectRef(*row[1:]) for row in rows)) if rows else None

    @commits
    def finish_cleanup(self, lease: UUID, failures: Failures) -> int:
        """Settle leased objects; returns how many are gone."""
        return int(self._db.value("select reaper.finish_cleanup(%s, %s)", lease, Jsonb(list(failures))))

    @commits
    def claim_invalidations(self, limit: int) -> RetryLease | None:
        """Lease codes whose cache entry is due for another try."""
        rows = self._db.tuples("select * from reaper.claim_invalidations(%s)", limit)
        return RetryLease(rows[0][0], short_codes=tuple(row[1] for row in rows)) if rows else None

    @commits
    def finish_invalidations(self, lease: UUID, failures: Failures) -> int:
        """Settle leased codes; returns how many are gone."""
        return int(self._db.value("select reaper.finish_invalidations(%s, %s)", lease, Jsonb(list(failures))))

    @reads
    def waiting_invalidations(self) -> Waiting | None:
        """Codes whose cache entry is queued and not due yet; None where there are none."""
        return self._db.one(
            Waiting, "select number, until from reaper.waiting_invalidations() where number > 0"
        )
