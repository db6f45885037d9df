"""The lease of a service: while it is extended, no other worker runs the service.

The token in `reaper.services` decides. The connection that took it also holds the session advisory lock, and
extends the lease from a thread of its own, so that slow work does not lose it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

from reaper.db.connection import Connection
from reaper.errors import ReaperError, Unreachable
from reaper.queries import Queries

# How long PostgreSQL keeps a lease that is not extended; how often it is extended.
LENGTH = 15.0
EVERY = 5.0


class ServiceLease:
    """One try to lease a service; without a token another worker has it."""

    def __init__(self, queries: Queries, name: str, worker: str, every: float = EVERY) -> None:
        self._queries = queries
        self._name = name
        self._every = every
        self._ended = threading.Event()
        self._lost = False
        # Before the question: what PostgreSQL counts from is later, so that we give up first.
        self._extended_at = time.monotonic()
        self.token: UUID | None = queries.lease_service(name, worker)
        self._thread = threading.Thread(target=self._run, name=f"lease:{name}", daemon=True)

    @property
    def taken(self) -> bool:
        """Whether the service was free."""
        return self.token is not None

    def is_held(self) -> bool:
        """Whether the lease is still ours, as far as is known here; what is recorded is tested again."""
        return self.taken and not self._lost and time.monotonic() - self._extended_at < LENGTH

    def start(self) -> None:
        """Extend it from now on."""
        if self.taken:
            self._thread.start()

    def end(self) -> None:
        """Let others have the service now; where that fails they have it when the lease expires."""
        if self.token is None:
            return
        self._ended.set()
        self._thread.join()
        with suppress(ReaperError):
            self._queries.return_service_lease(self._name, self.token)

    def _run(self) -> None:
        while not self._lost and not self._ended.wait(self._every):
            self._extend()

    def _extend(self) -> None:
        asked_at = time.monotonic()
        try:
            self._lost = not self._queries.extend_service_lease(self._name, self.token)
            self._extended_at = asked_at
        except Unreachable:
            # The connection is gone, and the advisory lock with it.
            self._lost = True
        except ReaperError:
            # A lock on the row, perhaps: there is time for another try.
            return


@contextmanager
def service_lease(
    connect: Callable[[], Connection],
    bind: Callable[[Connection], Queries],
    name: str,
    worker: str,
    every: float = EVERY,
) -> Iterator[ServiceLease]:
    """Try to have the service alone inside the block, on a connection of its own."""
    connection = connect()
    try:
        lease = ServiceLease(bind(connection), name, worker, every)
        lease.start()
        try:
            yield lease
        finally:
            lease.end()
    finally:
        connection.close()
