"""What the operator's page asks every few seconds: looks whose cost does not grow with the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

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
class WantedCopies:
    """Contents that want copies for one reason; there are more unless the look was complete."""

    good: int
    reason: str
    fits_nowhere: bool
    contents: int
    oldest: datetime
    next_attempt: datetime
    example: str
    last_error: str | None
    complete: bool


@dataclass(frozen=True, slots=True)
class BadCopies:
    """Copies of one backend that are missing or corrupt."""

    backend: str
    trouble: str
    copies: int
    oldest: datetime
    complete: bool


@dataclass(frozen=True, slots=True)
class SoleBadCopy:
    """A bad copy of a content that has no good one."""

    content_hash: str
    backend: str
    object_key: str
    trouble: str
    trouble_at: datetime
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """How many copies there are to be, and how far the sweep has come; it goes on while it has no end."""

    replication_factor: int
    started_at: datetime | None
    finished_at: datetime | None
    looked_at: int
    wanted: int
    after_hash: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a backend was compared and read, without counting what is untracked now."""

    backend: str
    phase: str
    finished_at: datetime | None
    missing: int
    unknown: int
    brake_reason: str | None
    copies: int | None
    share_verified: Decimal | None
    scrub_brake: str | None


@dataclass(frozen=True, slots=True)
class DrainingRemains:
    """What a draining backend still has, of one kind."""

    backend: str
    what: str
    number: int


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
    def wanted_copies(self) -> list[WantedCopies]:
        """Contents that want copies, the most endangered first."""
        return self._db.all(WantedCopies, "select * from reaper.wanted_copies()")

    @reads
    def bad_copies(self) -> list[BadCopies]:
        """Copies that are missing or corrupt, by backend."""
        return self._db.all(BadCopies, "select * from reaper.bad_copies()")

    @reads
    def sole_bad_copies(self, limit: int) -> list[SoleBadCopy]:
        """Bad copies of contents that have no good one."""
        return self._db.all(SoleBadCopy, "select * from reaper.sole_bad_copies(%s)", limit)

    @reads
    def copy_progress(self) -> CopyProgress:
        """The replication factor, and how far the sweep has come."""
        return self._db.only(CopyProgress, "select * from reaper.copy_progress()")

    @reads
    def coverage(self) -> list[Coverage]:
        """How well each backend is known; only columns of the view that cost nothing."""
        return self._db.all(
            Coverage,
            "select backend, phase, finished_at, missing, unknown, brake_reason, copies, share_verified,"
            " scrub_brake from reaper.integrity",
        )

    @reads
    def draining_backends(self, counted_to: int) -> list[DrainingRemains]:
        """What draining backends still have, each kind counted so far and no further."""
        return self._db.all(DrainingRemains, "select * from reaper.draining_backends(%s)", counted_to)

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
