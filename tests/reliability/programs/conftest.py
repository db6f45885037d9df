from collections.abc import Callable

import pytest

pytest.register_assert_rewrite(
    *(f"tests.reliability.programs.{each}" for each in ("world", "writing", "reading", "working", "owing"))
)

from tests.support.paste_fixtures import Connection  # noqa: E402
from tests.support.programs.model import World  # noqa: E402


@pytest.fixture
def world(db: Connection, connect: Callable[..., Connection]) -> World:
    """A database for many programs."""
    world = World(db, connect(autocommit=False))
    world.prepare()
    return world
