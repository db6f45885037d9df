"""A connection that outlives its server's restarts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from reaper.db.connection import Connection
from reaper.db.retry import RetryPolicy

Q = TypeVar("Q")
T = TypeVar("T")


class Session(Generic[Q]):
    """Asks PostgreSQL; again where trying again can help. Several threads may share it.

    `bind` makes what is asked from a connection.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        bind: Callable[[Connection], Q],
        on_reconnect: Callable[[Q], object] | None = None,
        retry: RetryPolicy | None = None,
        answered: threading.Event | None = None,
    ) -> None:
        self._connect = connect
        self._bind = bind
        self._on_reconnect = on_reconnect
        self._retry = retry or RetryPolicy()
        # Whether the server has answered before, this session or another that shares the event.
        self._answered = answered or threading.Event()
        self._guard = threading.Lock()
        self._connection: Connection | None = None
        self._was_connected = False

    def call(self, ask: Callable[[Q], T]) -> T:
        """The answer; what is asked must bear being asked twice, since an answer can be lost on its way."""
        return self._retry.run(lambda: ask(self._bound()), self._answered.is_set)

    def open(self) -> None:
        """Connect now, for the sake of a later moment that would be worse to be refused in."""
        self.call(lambda _: None)

    def close(self) -> None:
        """Give the connection up; the next call would open another."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    def _bound(self) -> Q:
        with self._guard:
            if self._connection is None or self._connection.closed:
                self._connection = self._opened()
                self._was_connected = True
                self._answered.set()
            return self._bind(self._connection)

    def _opened(self) -> Connection:
        """A connection on which all that follows a loss has been done; otherwise none."""
        connection = self._connect()
        try:
            if self._was_connected and self._on_reconnect:
                self._on_reconnect(self._bind(connection))
        except BaseException:
            connection.close()
            raise
        return connection
