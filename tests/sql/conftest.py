"""What only the tests of the SQL core need."""

from collections.abc import Callable

import pytest

from tests.support.paste_fixtures import Connection
from tests.support.waiting import wait_until_blocked


@pytest.fixture
def waits(db: Connection) -> Callable[..., None]:
    """Returns as soon as the other connection waits for a lock, of a certain kind if one is named."""
    return lambda other, kind=None: wait_until_blocked(db, other.info.backend_pid, kind)
