"""Connections of the migrator: one name, no timeouts that a role or database may have set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reaper.db.connection import Connection, connect

APPLICATION_NAME = "reaper:migrate"
# A role's statement_timeout would cut an index build short; an idle timeout would take the lock away.
_TIMEOUTS = (
    "statement_timeout",
    "lock_timeout",
    "idle_session_timeout",
    "idle_in_transaction_session_timeout",
)


@contextmanager
def migrator_connection(
    dsn: str, search_path: str = "pg_catalog", read_only: bool = False
) -> Iterator[Connection]:
    """An autocommit connection that is closed at the end of the block."""
    with connect(dsn, APPLICATION_NAME) as connection:
        for statement in session_settings(connection.info.server_version, search_path):
            connection.execute(statement)
        if read_only:
            connection.execute("set default_transaction_read_only = on")
        yield connection


def session_settings(server_version: int, search_path: str) -> tuple[str, ...]:
    """The statements that make a session fit for migrating, also for one that psql opens."""
    timeouts = (*_TIMEOUTS, "transaction_timeout") if server_version >= 170000 else _TIMEOUTS
    return (
        *(f"set {name} = 0" for name in timeouts),
        f"set search_path = {search_path}",
        "set default_transaction_isolation = 'read committed'",
        "set default_transaction_read_only = off",
        "set standard_conforming_strings = on",
        # For the migration that creates tables where an application has none.
        "set reaper.tables_looked_at = 'yes'",
    )
