"""Heartbeats, and what becomes of the batches of dead workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import (
    Batch,
    ResetCounts,
    object_refs,
)
from reaper.queries.base import Area, commits, reads


class Watchdog(Area):
    """Heartbeats, and what becomes of the batches of dead workers."""

    @commits
    def adopt_batch(self, worker: str) -> Batch | None:
        """Take over the oldest released batch that no worker holds."""
        rows = self._db.tuples("select * from reaper.adopt_batch(%s)", worker)
        if not rows:
            return None
        batch_id, codes, *columns = rows[0]
        return Batch(batch_id, tuple(codes), object_refs(columns))

    @commits
    def return_unknown_batches(self, worker: str, known: Sequence[UUID]) -> int:
        """Return batches that this worker holds without knowing: the answer that named them was lost."""
        return int(self._db.value("select reaper.return_unknown_batches(%s, %s)", worker, list(known)))

    @reads
    def count_ownerless_rows(self) -> int:
        """How many rows a drop left that another session still holds."""
        return int(self._db.value("select reaper.count_ownerless_rows()"))

    @commits
    def return_or_disown(self, batch_id: UUID) -> None:
        """Let go of a batch whose drop or finish failed."""
        self._db.value("select reaper.return_or_disown(%s)", batch_id)

    @commits
    def reset_stuck(self, older_than: timedelta) -> ResetCounts:
        """Take back what dead workers hold."""
        reset = self._db.one(ResetCounts, "select * from reaper.reset_stuck(%s)", older_than)
        return reset or ResetCounts(0, 0, 0)

    @commits
    def heartbeat(
        self,
        worker: str,
        queue_worker: int | None = None,
        degraded: Mapping[str, str] | None = None,
        *,
        takes_jobs: bool = True,
    ) -> None:
        """Record that this worker is alive, under which number it takes jobs, and what does not answer it."""
        trouble = Jsonb(dict(degraded)) if degraded else None
        self._db.value("select reaper.heartbeat(%s, %s, %s, %s)", worker, queue_worker, trouble, takes_jobs)

    @commits
    def retire_worker(self, worker: str) -> None:
        """Record that this worker has ended; others may take its batches."""
        self._db.value("select reaper.retire_worker(%s)", worker)
