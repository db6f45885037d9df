from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from .scenes import Stage


@pytest.fixture
def stage(
    db: psycopg.Connection[Any],
    connect: Callable[[], psycopg.Connection[Any]],
    record_property: Callable[[str, object], None],
) -> Stage:
    return Stage(db, connect, record_property)
