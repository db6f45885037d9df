"""Uploads in parts: whose they are, and what was found of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from reaper.model import OpenUpload
from reaper.queries.base import Area, commits, reads


class Multipart(Area):
    """Uploads in parts: whose they are, and what was found of them."""

    @commits
    def record_put_upload(self, intent_id: UUID, upload_id: str) -> bool:
        """Write the name of an upload into its put; False when the intent is gone."""
        return bool(self._db.value("select reaper.record_put_upload(%s, %s)", intent_id, upload_id))

    @reads
    def held_uploads(self, backend: str, uploads: Sequence[OpenUpload]) -> set[str]:
        """The ids of those that a put or a copy holds which is not settled."""
        keys, ids = [upload.key for upload in uploads], [upload.upload_id for upload in uploads]
        query = "select upload_id from reaper.held_uploads(%s, %s, %s)"
        return {row[0] for row in self._db.tuples(query, backend, keys, ids)}

    @reads
    def stale_uploads_before(self) -> datetime:
        """Uploads whose last part is older are abandoned."""
        before: datetime = self._db.value("select reaper.stale_uploads_before()")
        return before

    @commits
    def record_uploads(
        self, backend: str, still_open: int, oldest: datetime | None, parts: int, size: int
    ) -> None:
        """Record what a look found and deleted."""
        self._db.value(
            "select reaper.record_uploads(%s, %s, %s, %s, %s)", backend, still_open, oldest, parts, size
        )
