"""What only the tests of the SQL core need."""

import time
from collections.abc import Callable

import pytest

from tests.support.paste_fixtures import Connection, value

PATIENCE = 30.0
BLOCKED = """
select cardinality(pg_blocking_pids(pid)) > 0 and coalesce(wait_event = %s, true)
  from pg_stat_activity
 where pid = %s
"""


@pytest.fixture
def waits(db: Connection) -> Callable[..., None]:
    """Returns as soon as the other connection waits for a lock, of a certain kind if one is named."""

    def until_blocked(connection: Connection, kind: str | None = None) -> None:
        deadline = time.monotonic() + PATIENCE
        while not value(db, BLOCKED, kind, connection.info.backend_pid):
            assert time.monotonic() < deadline, "it never waited"

    return until_blocked
