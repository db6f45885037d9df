"""Connections of the migrator: one name, no timeouts that a role or database may have set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reaper.db.connection import Connection, connect

APPLICATION_NAME = "reaper:migrate"
# A role's statement_timeout would cut an index build short; an idle timeout would take the lock away.
_NO_TIMEOUTS = """
    select set_config(name, '0', false) from pg_catalog.pg_settings
     where name in ('statement_timeout', 'lock_timeout', 'idle_session_timeout',
                    'idle_in_transaction_session_timeout', 'transaction_timeout')
"""


@contextmanager
def session(dsn: str, search_path: str = "pg_catalog", read_only: bool = False) -> Iterator[Connection]:
    """An autocommit connection that is closed at the end of the block."""
    with connect(dsn, APPLICATION_NAME) as connection:
        connection.execute(_NO_TIMEOUTS)
        connection.execute("select set_config('search_path', %s, false)", (search_path,))
        connection.execute("set default_transaction_isolation = 'read committed'")
        if read_only:
            connection.execute("set default_transaction_read_only = on")
        yield connection
