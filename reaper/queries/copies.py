"""Copies: those that contents want, those that are being made, those that are too many."""

from __future__ import annotations

from uuid import UUID

from reaper.model import CopySweep, CopyTask
from reaper.queries.base import Area, commits


class Copies(Area):
    """Copies: those that contents want, those that are being made, those that are too many."""

    @commits
    def sweep_copies(self, limit: int) -> CopySweep:
        """Look at one window of content and enter what has too few copies or too many."""
        return self._db.only(CopySweep, "select * from reaper.sweep_copies(%s)", limit)

    @commits
    def claim_copies(self, limit: int) -> list[CopyTask]:
        """Copies to make, the most endangered contents first; their intents are committed, room is reserved."""
        return self._db.all(CopyTask, "select * from reaper.claim_copies(%s)", limit)

    @commits
    def renew_copies(self, lease: UUID) -> int:
        """Extend a lease; how many of its copies are not ended."""
        return int(self._db.value("select reaper.renew_copies(%s)", lease))

    @commits
    def commit_copy(self, task: CopyTask, source: str, size: int, sha256: str | None, verified: bool) -> str:
        """Make the stored object a copy: 'copied', 'moved', 'repaired', 'content_gone' or 'not_needed'."""
        return str(
            self._db.value(
                "select reaper.commit_copy(%s, %s, %s, %s, %s, %s)",
                task.intent_id,
                task.lease,
                source,
                size,
                sha256,
                verified,
            )
        )

    @commits
    def fail_copy(self, task: CopyTask, error: str, uploaded: bool) -> bool:
        """End a copy that could not be made; whether its content still wants one."""
        return bool(
            self._db.value(
                "select reaper.fail_copy(%s, %s, %s, %s)", task.intent_id, task.lease, error, uploaded
            )
        )

    @commits
    def report_copy(
        self, content_hash: str, backend: str, object_key: str, trouble: str | None, detail: str | None
    ) -> str:
        """Say that a copy is missing, corrupt or (None) good: 'recorded', 'good', 'known' or 'gone'."""
        return str(
            self._db.value(
                "select reaper.report_copy(%s, %s, %s, %s, %s)",
                content_hash,
                backend,
                object_key,
                trouble,
                detail,
            )
        )

    @commits
    def drop_stale_copies(self, limit: int) -> int:
        """End copies whose process died; how many."""
        return int(self._db.value("select reaper.drop_stale_copies(%s)", limit))
