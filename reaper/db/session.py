"""A connection that outlives its server's restarts, with patience for what passes by itself."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from reaper.db.connection import Connection
from reaper.errors import DatabaseError, Unreachable
from reaper.queries import Queries

T = TypeVar("T")

TRIES = 3
PATIENCE = 30.0
# Serialization failure, deadlock, lock timeout: nothing was changed, and a moment later it may work.
TRANSIENT = {"40001", "40P01", "55P03"}


class Session:
    """Asks PostgreSQL; again where trying again can help. Several threads may share it."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        on_reconnect: Callable[[Queries], object] | None = None,
        patience: float = PATIENCE,
        answered: threading.Event | None = None,
    ) -> None:
        self._connect = connect
        self._on_reconnect = on_reconnect
        self._patience = patience
        # Whether the server has answered before, this session or another that shares the event.
        self._answered = answered or threading.Event()
        self._guard = threading.Lock()
        self._connection: Connection | None = None
        self._was_connected = False

    def call(self, ask: Callable[[Queries], T]) -> T:
        """The answer; what is asked must bear being asked twice, since an answer can be lost on its way.

        Locks are waited for three times, a lost server for half a minute.
        """
        deadline = time.monotonic() + self._patience
        attempt = 0
        while True:
            attempt += 1
            try:
                return ask(self._queries())
            except (Unreachable, DatabaseError) as error:
                if not self._may_try_again(error, attempt, deadline):
                    raise
            time.sleep(min(0.1 * attempt, 1.0) * random.uniform(0.5, 1.5))

    def open(self) -> None:
        """Connect now, for the sake of a later moment that would be worse to be refused in."""
        self.call(lambda _: None)

    def close(self) -> None:
        """Give the connection up; the next call would open another."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    def _may_try_again(self, error: Unreachable | DatabaseError, attempt: int, deadline: float) -> bool:
        if isinstance(error, Unreachable):
            # A server that never answered is a wrong address, not an interruption.
            return self._answered.is_set() and time.monotonic() < deadline
        return error.sqlstate in TRANSIENT and attempt < TRIES

    def _queries(self) -> Queries:
        with self._guard:
            if self._connection is None or self._connection.closed:
                self._connection = self._opened()
                self._was_connected = True
                self._answered.set()
            return Queries(self._connection)

    def _opened(self) -> Connection:
        """A connection on which all that follows a loss has been done; otherwise none."""
        connection = self._connect()
        try:
            if self._was_connected and self._on_reconnect:
                self._on_reconnect(Queries(connection))
        except BaseException:
            connection.close()
            raise
        return connection
