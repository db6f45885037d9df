"""Circuit breakers: a backend that does not answer is not asked for a while, by any process.

PostgreSQL counts failures and decides; this module reports to it and asks it. Where PostgreSQL does not
answer, every circuit counts as closed and the backend is tried.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO, TypeVar

from reaper.db.reconnecting_session import Session
from reaper.errors import CircuitOpen, ReaperError, Unreachable
from reaper.model import Failed, OpenUpload, StoredDigest, StoredHead, StoredObject, UploadedParts
from reaper.ports import Address, Begun, ObjectStore, Reading
from reaper.queries import Queries
from reaper.telemetry.events import Telemetry

T = TypeVar("T")

# How old an answer may be, and how often a success is worth telling while there is nothing to reset.
FRESH = 1.0
NOT_ASKED = Failed("circuit is open", outage=True)


class Circuits:
    """What all processes together know of the backends; any number of threads may ask."""

    def __init__(
        self, session: Session[Queries], telemetry: Telemetry, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._session = session
        self._telemetry = telemetry
        self._clock = clock
        self._guard = threading.Lock()
        self._open: frozenset[str] = frozenset()
        self._asked_at: float | None = None
        self._told_at: dict[str, float] = {}
        self._failing: set[str] = set()

    def is_open(self, backend: str) -> bool:
        """Whether the circuit of the backend is open now.

        "Closed" is believed for a second. "Open" is asked again each time: a claim may have learnt that the
        backend answers again, and its request must not be refused here.
        """
        with self._guard:
            stale = backend in self._open or self._asked_at is None or self._clock() - self._asked_at >= FRESH
            if stale:
                # From here on the others go by the answer before, instead of waiting for this one.
                self._asked_at = self._clock()
        if stale:
            self._refresh()
        return backend in self._open

    def succeeded(self, backend: str) -> None:
        """It answered. Told to PostgreSQL at once where that changes anything, else now and then."""
        with self._guard:
            now = self._clock()
            trouble = backend in self._failing or backend in self._open
            if not trouble and now - self._told_at.get(backend, -FRESH) < FRESH:
                return
            self._told_at[backend] = now
            self._failing.discard(backend)
        if self._ask(lambda q: q.record_backend_success(backend)):
            self._expire()

    def failed(self, backend: str, error: str) -> None:
        """A request got no answer."""
        with self._guard:
            self._failing.add(backend)
        self._telemetry.backend_failed(backend)
        if self._ask(lambda q: q.record_backend_failure(backend, error)) not in (None, "closed"):
            self._expire()

    def _expire(self) -> None:
        """The state has changed: the next call asks PostgreSQL."""
        with self._guard:
            self._asked_at = None

    def _refresh(self) -> None:
        states = self._ask(lambda q: q.circuit_states())
        if states is not None:
            self._open = frozenset(c.backend for c in states if c.state != "closed")
            self._telemetry.circuits(states)

    def _ask(self, question: Callable[[Queries], T]) -> T | None:
        try:
            return self._session.call(question)
        except ReaperError as error:
            self._telemetry.circuits_unknown(error)
            return None


class GuardedStore:
    """An ObjectStore that sends nothing to a backend whose circuit is open, and reports how others answer."""

    def __init__(self, name: str, store: ObjectStore, circuits: Circuits) -> None:
        self._name = name
        self._store = store
        self._circuits = circuits

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        """Delete, or say of every key that its backend was not asked."""
        if self._circuits.is_open(self._name):
            return dict.fromkeys(keys, NOT_ASKED)
        left = self._store.delete(keys)
        outages = [why for why in left.values() if why.outage]
        # One key that was deleted, or refused for its own sake, is an answer.
        if outages and len(outages) >= len(set(keys)):
            self._circuits.failed(self._name, outages[0].error)
        elif keys:
            self._circuits.succeeded(self._name)
        return left

    def list(self, after: str = "") -> Iterator[StoredObject]:
        """Every object in byte order of its key, page by page."""
        with self._guarded():
            yield from self._store.list(after)

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        """Those of these keys that are there now."""
        with self._guarded():
            return self._store.find(keys)

    def put(self, key: str, body: BinaryIO | bytes, size: int, begun: Begun | None = None) -> None:
        """Store these bytes."""
        with self._guarded():
            self._store.put(key, body, size, begun)

    def create(self, key: str, body: bytes) -> bool:
        """Store these bytes where there is no such object."""
        with self._guarded():
            return self._store.create(key, body)

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None where there is none."""
        with self._guarded():
            return self._store.get(key)

    def digest(self, key: str) -> StoredDigest | None:
        """What the object is; None where there is none."""
        with self._guarded():
            return self._store.digest(key)

    def read(self, key: str) -> Reading | None:
        """The object's bytes, piece by piece; None where there is none."""
        with self._guarded():
            found = self._store.read(key)
        return found and replace(found, pieces=self._guarded_pieces(found.pieces))

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        """Store what is read; what goes wrong with reading it says nothing about this backend."""
        with self._guarded():
            return self._store.write(key, reading, begun)

    def copy(self, source: Address, source_key: str, key: str, size: int, begun: Begun) -> None:
        """Let the server copy an object."""
        with self._guarded():
            self._store.copy(source, source_key, key, size, begun)

    def head(self, key: str) -> StoredHead | None:
        """What the store says of an object; None where there is none."""
        with self._guarded():
            return self._store.head(key)

    @property
    def address(self) -> Address:
        """Where the store is."""
        return self._store.address

    def probe(self) -> None:
        """Write, find and delete an object, whatever the circuit says: a person wants to know."""
        self._store.probe()

    def check(self) -> None:
        """Look at the bucket, whatever the circuit says: this is how one finds out that it works again."""
        self._store.check()

    def uploads(self) -> Iterator[OpenUpload]:
        """Every upload in parts that is open, page by page."""
        with self._guarded():
            yield from self._store.uploads()

    def parts(self, upload: OpenUpload) -> UploadedParts | None:
        """What is stored of an open upload; None where there is none."""
        with self._guarded():
            return self._store.parts(upload)

    def abort(self, upload: OpenUpload) -> None:
        """Give an open upload up with its parts."""
        with self._guarded():
            self._store.abort(upload)

    @property
    def notes(self) -> Sequence[str]:
        """What is worth knowing about the store."""
        return self._store.notes

    def _guarded_pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        # What the caller does with a piece is not guarded: it may fail for reasons of its own.
        while True:
            with self._guarded():
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        if self._circuits.is_open(self._name):
            raise CircuitOpen(
                f"circuit of backend {self._name} is open",
                "reaper probes the backend by itself; see retry_at and last_error in reaper.backends.",
            )
        try:
            yield
        except Unreachable as error:
            self._circuits.failed(self._name, error.message)
            raise
        self._circuits.succeeded(self._name)

    def __repr__(self) -> str:
        return repr(self._store)
