"""Copies: those that contents want, those that are being made, those that are too many."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from reaper.model import CopyDetail, CopySweep, CopyTask, Excess, FailedCopy, Move, StoredCopy
from reaper.queries.base import Area, commits, reads


class Copies(Area):
    """Copies: those that contents want, those that are being made, those that are too many."""

    @commits
    def sweep_copies(self, limit: int) -> CopySweep:
        """Look at one window of content and enter what has too few copies or too many."""
        return self._db.only(CopySweep, "select * from reaper.sweep_copies(%s)", limit)

    @commits
    def claim_copies(self, limit: int) -> list[CopyTask]:
        """Copies to make, the most endangered contents first; their intents are committed."""
        return self._db.all(CopyTask, "select * from reaper.claim_copies(%s)", limit)

    @reads
    def copies_are_due(self) -> bool:
        """Whether there is more to look at, where a claim found only contents that fit nowhere."""
        return bool(self._db.value("select reaper.copies_are_due()"))

    @commits
    def claim_moves(self, limit: int) -> list[CopyTask]:
        """Moves of the rebalancer to make; a plan is made first where none is left."""
        return self._db.all(CopyTask, "select * from reaper.claim_moves(%s)", limit)

    @reads
    def plan_moves(self, limit: int) -> list[Move]:
        """What the rebalancer would move."""
        return self._db.all(Move, "select * from reaper.plan_moves(%s)", limit)

    @commits
    def claim_excess(self, limit: int) -> list[Excess]:
        """Copies to remove, each with those that are to stay and to be looked for first."""
        return self._db.all(Excess, "select * from reaper.claim_excess(%s)", limit)

    @commits
    def remove_copy(self, excess: Excess, seen: Sequence[tuple[str, str]]) -> str:
        """Remove a copy if enough of those seen (backend, key) stay: 'removed', 'gone', 'kept: …'"""
        return str(
            self._db.value(
                "select reaper.remove_copy(%s, %s, %s, %s, %s)",
                excess.content_hash,
                excess.remove_backend,
                excess.remove_key,
                [backend for backend, _ in seen],
                [key for _, key in seen],
            )
        )

    @reads
    def copies_detail(self, content_hash: str) -> list[CopyDetail]:
        """All that is known of the copies of a content."""
        return self._db.all(CopyDetail, "select * from reaper.copies_detail(%s)", content_hash)

    @commits
    def extend_copies(self, lease: UUID) -> int:
        """Extend a lease; how many of its copies are not ended."""
        return int(self._db.value("select reaper.extend_copies(%s)", lease))

    @commits
    def commit_copies(self, lease: UUID, stored: Sequence[StoredCopy]) -> dict[UUID, str]:
        """Make stored objects copies: 'copied', 'moved', 'repaired', 'content_gone', 'not_needed', …"""
        rows = self._db.tuples(
            "select intent_id, outcome from reaper.commit_copies(%s, %s, %s, %s, %s, %s)",
            lease,
            [copy.intent_id for copy in stored],
            [copy.source for copy in stored],
            [copy.size_bytes for copy in stored],
            [copy.sha256 for copy in stored],
            [copy.verified for copy in stored],
        )
        return dict(rows)

    @commits
    def fail_copies(self, lease: UUID, failed: Sequence[FailedCopy]) -> int:
        """End copies that could not be made; how many the lease still held."""
        return int(
            self._db.value(
                "select reaper.fail_copies(%s, %s, %s, %s)",
                lease,
                [copy.intent_id for copy in failed],
                [copy.error for copy in failed],
                [copy.uploaded for copy in failed],
            )
        )

    @commits
    def record_upload(self, task: CopyTask, upload_id: str) -> bool:
        """Record the multipart upload of a copy; False when the lease is lost."""
        return bool(
            self._db.value("select reaper.record_upload(%s, %s, %s)", task.intent_id, task.lease, upload_id)
        )

    @commits
    def report_copy(
        self, content_hash: str, backend: str, object_key: str, trouble: str | None, detail: str | None
    ) -> str:
        """Say that a copy is missing, corrupt or (None) good: 'recorded', 'good', 'known' or 'gone'."""
        # As it is: on an asyncio connection it is awaited.
        answer: str = self._db.value(
            "select reaper.report_copy(%s, %s, %s, %s, %s)",
            content_hash,
            backend,
            object_key,
            trouble,
            detail,
        )
        return answer

    @commits
    def drop_stale_copies(self, limit: int) -> int:
        """End copies whose process died; how many."""
        return int(self._db.value("select reaper.drop_stale_copies(%s)", limit))
