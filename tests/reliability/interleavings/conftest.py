from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.support.interleavings.scenes import ExploredDatabase
from tests.support.ordeals import tell


@pytest.fixture
def database(
    db: psycopg.Connection[Any],
    connect: Callable[[], psycopg.Connection[Any]],
    request: pytest.FixtureRequest,
) -> Iterator[ExploredDatabase]:
    """A database in which schedules are run, and counted."""
    counts: Counter[str] = Counter()
    yield ExploredDatabase(db, connect, counts)
    tell(request.node, counts)
