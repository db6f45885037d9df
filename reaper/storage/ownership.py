"""Whose bucket is it? A copy of a database beside the bucket of the original must delete nothing there.

A marker object in each bucket names the installation, the database and the system identifier of its owner.
A process compares before its first deletion or put there, and each hour. Where the store or PostgreSQL
does not answer, that is an outage and no verdict.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from reaper.db.reconnecting_session import Session
from reaper.errors import ConfigError, ForeignBucket, ReaperError, Unreachable
from reaper.ports import ObjectStore
from reaper.queries import Queries
from reaper.queries.ownership import Installation
from reaper.storage.owner_marker import OWNER_KEY, Owner, UnreadableMarker, decode
from reaper.telemetry.events import Telemetry

OURS, OTHER, UNMARKED = "ours", "other", "unmarked"
# How long a comparison is believed; a mismatch shortly, so that a take-over is noticed.
HOUR = 3600.0
MOMENT = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look at a marker found: whose the bucket is (ours, other, unmarked), in words, and who asked."""

    state: str
    detail: str
    installation: Installation
    me: Owner

    @property
    def is_ours(self) -> bool:
        """Whether the marker names this installation in this database."""
        return self.state == OURS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison came to; no error means that the bucket is ours."""

    error: ReaperError | None
    at: float

    def answers(self, asked_at: float) -> bool:
        """Whether one who asks at this time need not compare again.

        An outage answers those who waited for it: one after the other would wait for as long again.
        """
        if isinstance(self.error, ForeignBucket):
            return asked_at < self.at + MOMENT
        return asked_at < (self.at if self.error else self.at + HOUR)


class Ownership:
    """Whose the buckets are, as this process found it; any number of threads may ask."""

    def __init__(
        self,
        session: Session[Queries],
        stores: Mapping[str, ObjectStore],
        telemetry: Telemetry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._stores = stores
        self._telemetry = telemetry
        self._clock = clock
        self._guards = {name: threading.Lock() for name in stores}
        self._verdicts: dict[str, Verdict] = {}

    def require(self, backend: str) -> None:
        """Raise ForeignBucket where the bucket is not ours, another ReaperError where that is unknown."""
        asked_at = self._clock()
        verdict = self._verdicts.get(backend)
        if verdict is None or not verdict.answers(asked_at):
            with self._guards[backend]:
                verdict = self._verdicts.get(backend)
                if verdict is None or not verdict.answers(asked_at):
                    verdict = Verdict(self._compare(backend), self._clock())
                    self._verdicts[backend] = verdict
        if verdict.error:
            raise verdict.error

    def is_known_foreign(self, backend: str) -> ForeignBucket | None:
        """Why the bucket is not ours, by the last comparison; asks nothing."""
        verdict = self._verdicts.get(backend)
        return verdict.error if verdict and isinstance(verdict.error, ForeignBucket) else None

    def refuse_foreign(self, backend: str) -> None:
        """Raise ForeignBucket where the bucket is another's; one without marker is let through, unmarked."""
        found = self.look(backend)
        if found.state == OTHER:
            raise _refusal(backend, found.detail)

    def look(self, backend: str) -> Finding:
        """Read the marker and change nothing."""
        store = self._store(backend)
        installation, now = self._session.call(lambda q: (q.installation_identity(), q.now()))
        me = Owner.of(installation, now)
        return _judge(installation, me, store.get(OWNER_KEY))

    def take_over(self, backend: str, former_owner: str, reason: str) -> Owner:
        """Make this database the owner; recorded and audited before the marker is written."""
        store = self._store(backend)
        self._session.call(lambda q: q.record_take_over(backend, former_owner, reason))
        me = self.look(backend).me
        marker = me.encode()
        store.put(OWNER_KEY, marker, len(marker))
        self._verdicts.pop(backend, None)
        self.require(backend)
        return me

    def _store(self, backend: str) -> ObjectStore:
        if backend not in self._stores:
            raise ConfigError(
                f"backend {backend} is not configured here",
                f"Configured backends: {', '.join(sorted(self._stores))}.",
            )
        return self._stores[backend]

    def _compare(self, backend: str) -> ReaperError | None:
        try:
            found = self.look(backend)
            if found.state == UNMARKED:
                found = self._mark(backend, found)
        except ReaperError as error:
            return error
        self._record(backend, found)
        return None if found.is_ours else _refusal(backend, found.detail)

    def _mark(self, backend: str, found: Finding) -> Finding:
        """Write the marker; what is read back decides, because another process may have been quicker."""
        store = self._stores[backend]
        store.create(OWNER_KEY, found.me.encode())
        written = store.get(OWNER_KEY)
        if written is None:
            raise Unreachable(
                f"backend {backend} does not show the marker {OWNER_KEY} that was written to it",
                "S3 shows a write at once; with this store reaper cannot tell whose the bucket is.",
            )
        return _judge(found.installation, found.me, written)

    def _record(self, backend: str, found: Finding) -> None:
        """Tell all others; where PostgreSQL is away the next comparison does."""
        self._telemetry.backend_owner(backend, found.is_ours, found.detail)
        with suppress(ReaperError):
            self._session.call(
                lambda q: q.record_backend_owner(
                    backend, found.installation.installation_id, found.state, found.detail
                )
            )


def _judge(installation: Installation, me: Owner, data: bytes | None) -> Finding:
    if data is None:
        if installation.is_recorded_here:
            return Finding(UNMARKED, f"there is no marker {OWNER_KEY} yet", installation, me)
        return Finding(OTHER, f"there is no marker {OWNER_KEY}, and {_moved(installation)}", installation, me)
    try:
        owner = decode(data)
    except UnreadableMarker as error:
        return Finding(OTHER, str(error), installation, me)
    if owner.is_same(me):
        return Finding(OURS, str(owner), installation, me)
    return Finding(OTHER, f"it belongs to {owner}", installation, me)


def _moved(installation: Installation) -> str:
    return (
        f"this database is a copy, or was moved: recorded as {installation.recorded_database}"
        f" on system {installation.recorded_system_identifier},"
        f" now {installation.database} on system {installation.system_identifier}"
    )


def _refusal(backend: str, detail: str) -> ForeignBucket:
    return ForeignBucket(
        f"bucket of backend {backend} is not ours: {detail}",
        f"Nothing is deleted or stored there. If it is this database's:"
        f" reaper backend take-over {backend} --reason …",
    )
