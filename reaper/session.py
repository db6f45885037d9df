"""A connection that outlives its server's restarts, with patience for what passes by itself."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from reaper.db import Connection
from reaper.errors import DatabaseError, Unreachable
from reaper.queries import Queries

T = TypeVar("T")

TRIES = 3
PAUSE = 0.1
# Serialization failure, deadlock, lock timeout: nothing was changed, and a moment later it may work.
TRANSIENT = {"40001", "40P01", "55P03"}


class Session:
    """Asks PostgreSQL, up to three times where trying again can help. Several threads may share it."""

    def __init__(
        self, connect: Callable[[], Connection], on_reconnect: Callable[[Queries], None] | None = None
    ) -> None:
        self._connect = connect
        self._on_reconnect = on_reconnect
        self._guard = threading.Lock()
        self._connection: Connection | None = None

    def call(self, ask: Callable[[Queries], T]) -> T:
        """The answer; what was asked must bear being asked twice, since an answer can be lost on its way."""
        for attempt in range(1, TRIES):
            try:
                return ask(self._queries())
            except (Unreachable, DatabaseError) as error:
                if not _passes(error):
                    raise
            time.sleep(PAUSE * attempt * random.uniform(0.5, 1.5))
        return ask(self._queries())

    def close(self) -> None:
        """Give the connection up; the next call would open another."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    def _queries(self) -> Queries:
        with self._guard:
            lost = self._connection is not None
            if self._connection is None or self._connection.closed:
                self._connection = self._connect()
                queries = Queries(self._connection)
                if lost and self._on_reconnect:
                    self._on_reconnect(queries)
            return Queries(self._connection)


def _passes(error: Unreachable | DatabaseError) -> bool:
    return isinstance(error, Unreachable) or error.sqlstate in TRANSIENT
