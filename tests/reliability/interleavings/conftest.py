from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.support.interleavings.scenes import Stage
from tests.support.ordeals import tell


@pytest.fixture
def stage(
    db: psycopg.Connection[Any],
    connect: Callable[[], psycopg.Connection[Any]],
    request: pytest.FixtureRequest,
) -> Iterator[Stage]:
    """A database in which schedules are run, and counted."""
    counts: Counter[str] = Counter()
    yield Stage(db, connect, counts)
    tell(request.node, counts)
