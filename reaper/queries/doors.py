"""What an application calls: put, get, delete, extend."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from reaper.model import (
    Committed,
    Copy,
    CopyTask,
    Intent,
    PasteRow,
)
from reaper.queries.base import Area, commits, reads


class Doors(Area):
    """What an application calls: put, get, delete, extend.

    Each method returns what the rows return, as it is: on an asyncio connection that is awaited.
    """

    @commits
    def begin_put(
        self, short_code: str, content_hash: str, size_bytes: int, expires_in: timedelta | None
    ) -> Intent:
        """Announce a paste that lives so long from now, by the database's clock; commit before uploading."""
        return self._db.only(
            Intent,
            "with life as materialized (select reaper.clock() + %s::interval as expires_at)"
            " select i.*, l.expires_at"
            "   from life l cross join lateral reaper.begin_put(%s, %s, %s, l.expires_at) as i",
            expires_in,
            short_code,
            content_hash,
            size_bytes,
        )

    @commits
    def commit_put(self, intent_id: UUID, uploaded: bool) -> Committed:
        """Make the paste; `uploaded` when an upload to the intent's key was begun."""
        return self._db.only(Committed, "select * from reaper.commit_put(%s, %s)", intent_id, uploaded)

    @commits
    def abort_put(self, intent_id: UUID, uploaded: bool = True) -> bool:
        """Give a put up; False when the intent is gone already."""
        return self._db.flag("select reaper.abort_put(%s, %s)", intent_id, uploaded)

    @commits
    def enqueue_late_upload(self, intent: Intent, content_hash: str, size_bytes: int) -> bool:
        """Queue the bytes of an ended intent for deletion, unless a paste uses them; whether queued."""
        return self._db.flag(
            "select reaper.enqueue_late_upload(%s, %s, %s, %s)",
            intent.backend,
            intent.object_key,
            content_hash,
            size_bytes,
        )

    @commits
    def enqueue_late_copy(self, task: CopyTask) -> bool:
        """Queue the object of a copy whose intent is gone, unless it is a copy or queued; whether it was."""
        return bool(
            self._db.value(
                "select reaper.enqueue_late_upload(%s, %s, %s, %s)",
                task.destination,
                task.object_key,
                task.content_hash,
                task.size_bytes,
            )
        )

    @reads
    def get_paste(self, short_code: str) -> PasteRow | None:
        """Where to read a paste; None when it does not exist or has expired."""
        return self._db.one(
            PasteRow,
            "select p.*, case when isfinite(p.expires_at) then p.expires_at - reaper.clock() end as remaining"
            "  from reaper.get_paste(%s) as p",
            short_code,
        )

    @reads
    def copies_of(self, content_hash: str) -> list[Copy]:
        """Everywhere that the content lies, backends that answer first."""
        return self._db.all(Copy, "select * from reaper.copies_of(%s)", content_hash)

    @commits
    def delete_paste(self, short_code: str) -> bool:
        """Make a paste unreadable; whether it was readable."""
        return self._db.flag("select reaper.delete_paste(%s)", short_code)

    @commits
    def extend_paste(self, short_code: str, expires_in: timedelta | None) -> bool:
        """Let a paste live so long from now; False when its row is gone."""
        return self._db.flag(
            "select reaper.extend_paste(%s, reaper.clock() + %s::interval)", short_code, expires_in
        )
