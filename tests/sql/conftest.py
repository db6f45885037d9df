"""What only the tests of the SQL core need."""

import time
from collections.abc import Callable

import pytest

from tests.paste_fixtures import Connection, value

PATIENCE = 30.0


@pytest.fixture
def waits(db: Connection) -> Callable[[Connection], None]:
    """Returns as soon as the other connection waits for a lock."""

    def until_blocked(connection: Connection) -> None:
        deadline = time.monotonic() + PATIENCE
        while not value(db, "select cardinality(pg_blocking_pids(%s)) > 0", connection.info.backend_pid):
            assert time.monotonic() < deadline, "it never waited"

    return until_blocked
