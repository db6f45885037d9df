"""Heartbeats, and what becomes of the batches of dead workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

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

    @commits
    def return_ownerless_rows(self) -> bool:
        """Return rows that a drop left because another session held them; whether there were any."""
        return bool(self._db.value("select reaper.return_ownerless_rows()"))

    @reads
    def count_ownerless_rows(self) -> int:
        """How many rows a drop left that another session still holds."""
        return int(self._db.value("select reaper.count_ownerless_rows()"))

    @commits
    def reset_stuck(self, older_than: timedelta) -> ResetCounts:
        """Take back what dead workers hold."""
        reset = self._db.one(ResetCounts, "select * from reaper.reset_stuck(%s)", older_than)
        return reset or ResetCounts(0, 0, 0)

    @commits
    def heartbeat(self, worker: str) -> None:
        """Record that this worker is alive."""
        self._db.value("select reaper.heartbeat(%s)", worker)

    @commits
    def retire_worker(self, worker: str) -> None:
        """Record that this worker has ended; others may take its batches."""
        self._db.value("select reaper.retire_worker(%s)", worker)

    @commits
    def return_batch(self, batch_id: UUID) -> int:
        """End a claim without deleting anything."""
        return int(self._db.value("select reaper.return_batch(%s)", batch_id))
