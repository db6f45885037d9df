"""Waiting for events: in other threads, other processes, or the database."""

import time
from collections.abc import Callable
from typing import Any

import psycopg

# Long: on a busy machine everything takes its time, and what happens ends the wait.
PATIENCE = 110.0
PAUSE = 0.005
BLOCKED = """
select cardinality(pg_blocking_pids(pid)) > 0 and coalesce(wait_event = %s, true)
  from pg_stat_activity
 where pid = %s
"""


def wait_until(
    happened: Callable[[], object],
    what: str = "what was waited for",
    said: Callable[[], str] = str,
    patience: float = PATIENCE,
    pause: float = PAUSE,
) -> None:
    """Return when it has happened; fail when that takes too long, with all that was said until then."""
    deadline = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < deadline, f"did not happen: {what}\n{said()}"
        time.sleep(pause)


def wait_until_true(dsn: str, query: str, *values: object, said: Callable[[], str] = str) -> None:
    """Return when the query returns true."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        wait_until(lambda: connection.execute(query, values or None).fetchone() == (True,), query, said)


def wait_until_blocked(db: psycopg.Connection[Any], pid: int, kind: str | None = None) -> None:
    """Return when that backend waits for a lock of another, of a certain kind if one is named."""
    wait_until(lambda: db.execute(BLOCKED, [kind, pid]).fetchone() == (True,), f"{pid} waits for a lock")
