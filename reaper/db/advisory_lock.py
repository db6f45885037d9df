"""Being the only one: an advisory lock on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from reaper.db.connection import Connection, translated
from reaper.errors import ReaperError
from reaper.queries import Queries


class Exclusion:
    """A service's lock, if it was free; it is gone when its connection is."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self.taken = Queries(connection).lock_service(name)

    def is_held(self) -> bool:
        """Whether the lock is still ours: asks the server, since a lost connection says nothing by itself."""
        try:
            with translated():
                self._connection.execute("select 1")
        except ReaperError:
            return False
        return self.taken

    def let_go(self) -> None:
        """Free the lock now; a server that is lost frees it by itself."""
        if self.taken:
            with suppress(ReaperError):
                Queries(self._connection).unlock_service(self._name)


@contextmanager
def exclusion(connect: Callable[[str], Connection], name: str) -> Iterator[Exclusion]:
    """Try to be the only one that runs the service inside the block."""
    connection = connect(f"lock:{name}")
    try:
        lock = Exclusion(connection, name)
        try:
            yield lock
        finally:
            # A server takes its time to notice that a connection is closed: a run that comes back at once
            # would still find the lock held, and be the last.
            lock.let_go()
    finally:
        connection.close()
