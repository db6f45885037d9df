"""A session advisory lock on a connection of its own: one process holds it, as long as the connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from reaper.db.connection import Connection, translated
from reaper.errors import ReaperError


class AdvisoryLock:
    """One try to take a lock; `take` and `free` are what is asked of the connection."""

    def __init__(
        self,
        connection: Connection,
        take: Callable[[Connection], bool],
        free: Callable[[Connection], object],
    ) -> None:
        self._connection = connection
        self._free = free
        self.taken = take(connection)

    def is_held(self) -> bool:
        """Whether the lock is still ours: asks the server, since a lost connection says nothing by itself."""
        try:
            with translated():
                self._connection.execute("select 1")
        except ReaperError:
            return False
        return self.taken

    def release(self) -> None:
        """Free the lock now; a server that is lost frees it by itself."""
        if self.taken:
            with suppress(ReaperError):
                self._free(self._connection)


@contextmanager
def advisory_lock(
    connect: Callable[[], Connection],
    take: Callable[[Connection], bool],
    free: Callable[[Connection], object],
) -> Iterator[AdvisoryLock]:
    """Try to hold the lock inside the block."""
    connection = connect()
    try:
        lock = AdvisoryLock(connection, take, free)
        try:
            yield lock
        finally:
            # A server takes its time to notice that a connection is closed: a run that comes back at once
            # would still find the lock held, and be the last.
            lock.release()
    finally:
        connection.close()
