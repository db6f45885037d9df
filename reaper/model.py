"""The shapes that travel between PostgreSQL and what is outside of it; the same names as in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, Self
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next claim begins; the time is PostgreSQL's own text, which also knows infinity."""

    expires_at: str
    short_code: str | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Things that are queued and not due yet, and when the first of them is."""

    number: int
    until: datetime


START = Cursor("-infinity", None)


@dataclass(frozen=True, slots=True)
class Claim:
    """Rows that are marked for us, as one batch."""

    batch_id: UUID
    claimed: int
    last_expires_at: str
    last_short_code: str

    @property
    def cursor(self) -> Cursor:
        """The end of this claim, where the next one begins."""
        return Cursor(self.last_expires_at, self.last_short_code)


class ObjectRef(NamedTuple):
    """An object to delete; a tuple, because a batch has a thousand of them."""

    content_hash: str
    backend: str
    object_key: str
    size_bytes: int | None


def is_own_key(content_hash: str, object_key: str) -> bool:
    """Whether reaper gave this key, and so counted the bytes when they were stored.

    An application's own size may be one from before it compressed or encrypted the bytes.
    """
    return object_key.startswith(f"{content_hash[:2]}/{content_hash}/")


def object_refs(columns: Sequence[Sequence[Any]]) -> tuple[ObjectRef, ...]:
    """The objects whose columns come as arrays."""
    return tuple(map(ObjectRef._make, zip(*columns, strict=True)))


@dataclass(frozen=True, slots=True)
class Batch:
    """A released batch: what is still to be deleted outside PostgreSQL."""

    batch_id: UUID
    short_codes: tuple[str, ...]
    objects: tuple[ObjectRef, ...]
    # Whether a standby has to have the release before they are deleted.
    awaits_standby: bool = True


@dataclass(frozen=True, slots=True)
class Taken:
    """The next step of a drain: how far it is, and the batch that it released, if it released one."""

    cursor: Cursor
    batch: Batch | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What became of one batch."""

    rows_deleted: int = 0
    rows_returned: int = 0
    rows_blocked: int = 0
    objects_deleted: int = 0
    objects_failed: int = 0
    bytes_freed: int = 0
    invalidations_failed: int = 0
    # Of the failed ones, those that went to the DLQ; of the deleted ones, those whose size is unknown.
    dead_letters: int = 0
    objects_unsized: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Figures)))


@dataclass(frozen=True, slots=True)
class Collected:
    """One page of contents: checked, collected, and kept because another table refers to them."""

    looked_at: int
    collected: int
    refused: int


@dataclass(frozen=True, slots=True)
class ResetCounts:
    """What the watchdog took back."""

    rows_reset: int
    batches_reset: int
    batches_orphaned: int


@dataclass(frozen=True, slots=True)
class RetryLease:
    """Deletions that failed before, leased for another try; an expired token changes nothing."""

    token: UUID
    objects: tuple[ObjectRef, ...] = ()
    short_codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an object was not deleted, and whether trying again can help.

    An outage is no fault of the object: its backend did not answer, throttled, or was not asked.
    """

    error: str
    permanent: bool = False
    outage: bool = False


@dataclass(frozen=True, slots=True)
class Circuit:
    """Whether a backend is used (closed), not asked until `retry_at` (open) or being probed (half_open)."""

    backend: str
    state: str
    retry_at: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as a listing of its backend shows it."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """An object that was begun in parts and neither ended nor given up."""

    key: str
    upload_id: str
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class UploadedParts:
    """The parts of an open upload that a backend stores: number, bytes, when the last of them came."""

    number: int = 0
    size: int = 0
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredDigest:
    """What an object is, found by reading it; the SHA-256 in hexadecimal digits."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredHead:
    """What a store says of an object: its size and, where it has one of the whole object, its SHA-256."""

    size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class CacheRead:
    """What the cache has of a paste; where nothing, the ticket to fill it, if it can be filled."""

    data: bytes | None
    ticket: int | None


@dataclass(frozen=True, slots=True)
class DueService:
    """A service whose time has come, or that was never planned; `now` is the time that decided so.

    `local_now` is the same moment on the clock of settings.time_zone.
    """

    name: str
    schedule: str
    next_run_at: datetime | None
    now: datetime
    local_now: datetime


@dataclass(frozen=True, slots=True)
class RescuedJob:
    """A job whose worker died, and what was done with it."""

    job_id: int
    task: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A put that was begun: where its bytes go, if they are needed."""

    intent_id: UUID
    backend: str
    object_key: str
    upload_required: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class PendingIntent:
    """A put that its writer did not finish in time, leased to this process."""

    lease: UUID
    intent_id: UUID
    short_code: str
    content_hash: str
    size_bytes: int
    expires_at: datetime | None
    backend: str
    object_key: str
    upload_required: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """One place where a content's bytes lie."""

    backend: str
    object_key: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class CopySweep:
    """One window of the sweep: contents looked at, those that want a copy, and whether that was the last."""

    looked_at: int
    wanted: int
    complete: bool


@dataclass(frozen=True, slots=True)
class CopyTask:
    """A copy to make, leased: read from the first source with the right bytes, store, commit."""

    intent_id: UUID
    lease: UUID
    content_hash: str
    # None where no row says it.
    size_bytes: int | None
    # Whether the hash is the SHA-256 of the bytes.
    sha256: bool
    # replicate, move, repair
    purpose: str
    sources: list[str]
    source_keys: list[str]
    destination: str
    object_key: str
    # Whether the stored object is to be compared.
    verify: bool

    def is_own(self, object_key: str) -> bool:
        """Whether reaper stored what lies under this key, and counted its bytes then."""
        return is_own_key(self.content_hash, object_key)


@dataclass(frozen=True, slots=True)
class Excess:
    """A copy that is too many, and the copies that are to stay."""

    content_hash: str
    keep_backends: list[str]
    keep_keys: list[str]
    keep_sizes: list[int]
    remove_backend: str
    remove_key: str


@dataclass(frozen=True, slots=True)
class Move:
    """A copy that the rebalancer would move."""

    content_hash: str
    size_bytes: int
    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class CopyDetail:
    """A copy of a content, or one that is in progress, wanted, too many or planned (kind)."""

    kind: str
    backend: str | None
    object_key: str | None
    size_bytes: int | None
    since: datetime | None
    verified_at: datetime | None
    # missing, corrupt
    trouble: str | None
    trouble_at: datetime | None
    circuit: str | None
    state: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Remains:
    """What a backend still has, of one kind."""

    what: str
    number: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """The object of a copy that is stored: where it was read from, and what it is."""

    intent_id: UUID
    source: str
    size_bytes: int
    sha256: str | None
    verified: bool


@dataclass(frozen=True, slots=True)
class FailedCopy:
    """A copy that was not made; without an error it was given back. Uploaded also where that is unknown."""

    intent_id: UUID
    error: str | None
    uploaded: bool


@dataclass(frozen=True, slots=True)
class Committed:
    """A paste that was made: where its bytes lie, and whether they are the ones that were uploaded for it."""

    backend: str
    object_key: str
    stored: bool


@dataclass(frozen=True, slots=True)
class PasteRow:
    """A readable paste, its best copy, and how long the database's clock gives it yet; None = for ever."""

    content_hash: str
    backend: str
    object_key: str
    size_bytes: int | None
    expires_at: datetime | None
    remaining: timedelta | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A paste that was put; the hash is the SHA-256 of its bytes, and no time means that it never expires."""

    short_code: str
    content_hash: str
    size_bytes: int
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Paste:
    """A paste as it is read."""

    short_code: str
    data: bytes = field(repr=False)
    content_hash: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What a drain leaves that found nothing more to claim: batches of other workers, and what is queued."""

    rows_held: int
    objects_held: int
    batches_held: int
    held_for: timedelta | None
    worker_silence: timedelta
    rows_blocked: int
    objects_queued: int
    objects_behind_circuits: int
    circuits_open: list[str]
    dead_letters: int


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a process has used of a backend in a month, since it began."""

    process: UUID
    month: date
    backend: str
    requests_read: int
    requests_write: int
    requests_list: int
    requests_delete: int
    ingress: int
    egress: int

    def as_dict(self) -> dict[str, str | int]:
        """The row for JSON."""
        figures = {name: getattr(self, name) for name in USAGE_FIGURES}
        return {"process": str(self.process), "month": f"{self.month}", "backend": self.backend, **figures}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """The row that was written like this; ValueError, TypeError or KeyError where it was not."""
        figures = [row[name] for name in USAGE_FIGURES]
        month, backend = date.fromisoformat(row["month"]), row["backend"]
        if month.day != 1 or not isinstance(backend, str) or not _BACKEND.fullmatch(backend):
            raise ValueError("no row of usage")
        if any(type(figure) is not int or not 0 <= figure < 10**17 for figure in figures):
            raise ValueError("no figures of usage")
        return cls(UUID(row["process"]), month, backend, *figures)


USAGE_FIGURES = tuple(f.name for f in fields(UsageRow))[3:]
_BACKEND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a webhook's events go, and the variables that hold the secrets to sign them with."""

    url: str
    secret_env: str | None = None
    previous_secret_env: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for an endpoint; `source` is the installation that it happened in."""

    source: UUID
    event_id: UUID
    type: str
    subject: str | None
    data: Any
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Events that are leased for one endpoint, by their numbers in the outbox, in their order."""

    lease: UUID
    endpoint: Endpoint
    events: dict[int, Event]


@dataclass(frozen=True, slots=True)
class Request:
    """What was sent to an endpoint."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint made of an event: without an error it has accepted it."""

    status: int | None = None
    error: str | None = None
    # The endpoint is in trouble, and not only with this event: nothing more is sent for a while.
    outage: bool = False
    # It wants no more events, ever.
    gone: bool = False
    # The seconds for which it asks to be left alone.
    retry_after: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    # The first bytes of what it said.
    body: bytes = b""
