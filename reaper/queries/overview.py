"""What the operator's page asks every few seconds: looks whose cost does not grow with the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from reaper.queries.base import Area, reads


@dataclass(frozen=True, slots=True)
class ExpiryLag:
    """For how long what is due now has been due; None where nothing is."""

    p50: timedelta | None
    p99: timedelta | None


@dataclass(frozen=True, slots=True)
class Minute:
    """What batches that finished in one minute deleted."""

    minute: datetime
    rows_deleted: int
    objects_deleted: int
    bytes_freed: int


@dataclass(frozen=True, slots=True)
class WaitingDeletions:
    """Queued deletions of one backend, cause and age; there are more unless the look was complete."""

    backend: str
    cause: str | None
    age: str
    objects: int
    bytes: int
    due: int
    oldest: datetime
    next_attempt: datetime
    complete: bool


@dataclass(frozen=True, slots=True)
class DlqCause:
    """Deletions of one backend that were given up for one cause, and the oldest of them."""

    backend: str
    cause: str
    objects: int
    bytes: int
    oldest: datetime
    example_key: str
    last_error: str


@dataclass(frozen=True, slots=True)
class BlockedCause:
    """Why rows cannot be deleted, and the SQL that mends it."""

    sqlstate: str
    message: str
    rows: int
    oldest: datetime
    next_attempt: datetime
    examples: list[str]
    complete: bool
    mending: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What a person changed, and why."""

    audit_id: int
    at: datetime
    who: str
    action: str
    subject: str
    reason: str | None
    detail: str | None


class Overview(Area):
    """What the operator's page asks every few seconds."""

    @reads
    def expiry_lag(self) -> ExpiryLag:
        """For how long what is due now has been due."""
        return self._db.only(ExpiryLag, "select * from reaper.expiry_lag()")

    @reads
    def runs_by_minute(self) -> list[Minute]:
        """What the batches of the last 24 hours deleted."""
        return self._db.all(Minute, "select * from reaper.runs_by_minute()")

    @reads
    def waiting_deletions(self) -> list[WaitingDeletions]:
        """The cleanup queue by backend, cause and age."""
        return self._db.all(WaitingDeletions, "select * from reaper.waiting_deletions()")

    @reads
    def dlq_causes(self, counted_to: int) -> list[DlqCause]:
        """The DLQ by backend and cause, each counted so far and no further."""
        return self._db.all(DlqCause, "select * from reaper.dlq_causes(%s)", counted_to)

    @reads
    def blocked_causes(self) -> list[BlockedCause]:
        """Why rows cannot be deleted."""
        return self._db.all(BlockedCause, "select * from reaper.blocked_causes()")

    @reads
    def callable_functions(self) -> frozenset[str]:
        """The functions that this login may call."""
        return frozenset(row[0] for row in self._db.tuples("select * from reaper.callable_functions()"))

    @reads
    def audit(self, before: int | None, limit: int) -> list[AuditEntry]:
        """What people changed, the newest first; `before` is where the page before ended."""
        return self._db.all(
            AuditEntry,
            "select audit_id, at, who, action, subject, reason, detail from reaper.audit"
            " where audit_id < coalesce(%s::bigint, 9223372036854775807) order by audit_id desc limit %s",
            before,
            limit,
        )
