"""The DLQ: objects whose deletion was given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reaper.queries.base import Area, commits, reads

# By name: a newer schema may have more columns.
_ENTRIES = """
select queue_id, backend, object_key, size_bytes, attempts, last_error, queued_at, buried_at,
       cause, content_hash, name_retired
  from reaper.dlq
"""
_CHOSEN = """
 where (%s::text is null or backend = %s) and (%s::text is null or cause = %s)
   and (%s::bigint[] is null or queue_id = any (%s))
 order by buried_at desc, queue_id desc
 limit %s
"""


@dataclass(frozen=True, slots=True)
class DlqFilter:
    """Which entries are meant; None = any. `before` leaves out what is given up after one has looked."""

    backend: str | None = None
    cause: str | None = None
    ids: Sequence[int] | None = None
    before: datetime | None = None

    def values(self) -> tuple[Any, ...]:
        """As the functions take them."""
        return self.backend, self.cause, None if self.ids is None else list(self.ids)


@dataclass(frozen=True, slots=True)
class DlqGroup:
    """The entries of one backend and one cause."""

    backend: str
    cause: str
    objects: int
    bytes: int
    retired_names: int
    first_buried_at: datetime
    last_buried_at: datetime
    objects_unsized: int = 0


@dataclass(frozen=True, slots=True)
class DlqEntry:
    """One object whose deletion was given up."""

    queue_id: int
    backend: str
    object_key: str
    size_bytes: int | None
    attempts: int
    last_error: str
    queued_at: datetime
    buried_at: datetime
    cause: str
    content_hash: str | None
    name_retired: bool


class Dlq(Area):
    """Objects whose deletion was given up."""

    @reads
    def count_dlq(self, chosen: DlqFilter) -> list[DlqGroup]:
        """How many there are, by backend and cause."""
        return self._db.all(
            DlqGroup,
            "select backend, cause, objects, bytes, retired_names, first_buried_at, last_buried_at,"
            "       objects_unsized"
            "  from reaper.count_dlq(%s, %s, %s, %s)",
            *chosen.values(),
            chosen.before,
        )

    @reads
    def dlq_newest(self, chosen: DlqFilter, limit: int) -> list[DlqEntry]:
        """The ones given up last."""
        backend, cause, ids = chosen.values()
        return self._db.all(DlqEntry, _ENTRIES + _CHOSEN, *(backend, backend, cause, cause, ids, ids), limit)

    @reads
    def dlq_entry(self, number: int) -> DlqEntry | None:
        """The one of that number."""
        return self._db.one(DlqEntry, _ENTRIES + " where queue_id = %s", number)

    @commits
    def retry_dlq(self, chosen: DlqFilter, reason: str | None) -> int:
        """Queue a batch of the deletions again; returns how many."""
        return int(
            self._db.value(
                "select reaper.retry_dlq(%s, %s, %s, %s, p_buried_before => %s)",
                *chosen.values(),
                *(reason, chosen.before),
            )
        )

    @commits
    def write_off_dlq(self, chosen: DlqFilter, reason: str, free_names: bool) -> int:
        """Delete a batch of the entries, and leave the objects; returns how many."""
        return int(
            self._db.value(
                "select reaper.write_off_dlq(%s, %s, %s, %s, p_buried_before => %s, p_free_names => %s)",
                *chosen.values(),
                *(reason, chosen.before, free_names),
            )
        )
