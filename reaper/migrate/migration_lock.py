"""One migrator at a time: a session advisory lock on a connection of its own."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import psycopg

from reaper.db.connection import Connection
from reaper.errors import LockLost

# The two-integer form with a class of our own, so that no hashed key of another program is the same.
LOCK_CLASS = 1919246704
LOCK_ID = 1

_HELD = """
    select exists (select from pg_catalog.pg_locks
                    where locktype = 'advisory' and granted and pid = pg_backend_pid()
                      and classid = %s and objid = %s and objsubid = 2
                      and database = (select oid from pg_catalog.pg_database
                                       where datname = current_database()))
"""


class MigrationLock:
    """The right to migrate this database, held by an otherwise idle connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def acquire(self, say: Callable[[str], None], pause: float = 0.2) -> None:
        """Wait for the lock by asking again and again.

        Waiting inside pg_advisory_lock would hold a snapshot, for which the other migrator's CREATE INDEX
        CONCURRENTLY waits: both would hang, unseen by the deadlock detector.
        """
        told = False
        while not self._try():
            if not told:
                say("another migration is running on this database; waiting for it")
                told = True
            time.sleep(pause * random.uniform(0.5, 1.5))

    def check(self) -> None:
        """Raise LockLost unless the lock is still ours."""
        try:
            row = self._connection.execute(_HELD, (LOCK_CLASS, LOCK_ID)).fetchone()
        except psycopg.Error:
            row = None
        if row is None or not row[0]:
            raise LockLost(
                "connection that holds the migration lock lost; stopped before the next change",
                "Run the migration again; connect to the server directly, not through a transaction pooler.",
            )

    def _try(self) -> bool:
        row = self._connection.execute(
            "select pg_try_advisory_lock(%s, %s)", (LOCK_CLASS, LOCK_ID)
        ).fetchone()
        return bool(row and row[0])
