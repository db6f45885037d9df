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
# Far from the keys of services, which begin at 1.
LOCK_ID = 2147483647

_HELD = """
    select exists (select from pg_catalog.pg_locks
                    where locktype = 'advisory' and granted and pid = pg_backend_pid()
                      and classid = %s and objid = %s and objsubid = 2
                      and database = (select oid from pg_catalog.pg_database
                                       where datname = current_database()))
"""
_HOLDER = """
    select l.pid, pg_catalog.pg_get_userbyid(a.usesysid)
      from pg_catalog.pg_locks l
      join pg_catalog.pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.classid = %s and l.objid = %s and l.objsubid = 2
       and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
     limit 1
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
                say(f"another migration is running on this database{self._holder()}; waiting for it")
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

    def _holder(self) -> str:
        """Who holds the lock: any login can take an advisory lock, so it may be no migration at all."""
        row = self._connection.execute(_HOLDER, (LOCK_CLASS, LOCK_ID)).fetchone()
        if row is None:
            return ""
        pid, login = row
        return f" (session {pid} of {login}; if it is none: select pg_terminate_backend({pid}))"

    def _try(self) -> bool:
        row = self._connection.execute(
            "select pg_try_advisory_lock(%s, %s)", (LOCK_CLASS, LOCK_ID)
        ).fetchone()
        return bool(row and row[0])
