"""Contents get as many good copies as they are to have, whatever happens to those that they have."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.app import App
from tests.support.copies_world import NAMES, CopiesWorld
from tests.support.folder_store import FolderStore

MANY = [f"p{n}" for n in range(60)]


@pytest.fixture
def copies(dsn: str, scratch: Path) -> Iterator[CopiesWorld]:
    """Three folders, and two copies of everything."""
    folders = {name: FolderStore(scratch / name) for name in NAMES}
    with CopiesWorld(dsn, "", {**folders}, scratch) as world:
        world.register()
        world.set(replication_factor=2)
        yield world


@pytest.fixture
def app(copies: CopiesWorld) -> Iterator[App]:
    with copies.app() as app:
        yield app


def test_what_was_put_gets_its_second_verified_copy(copies: CopiesWorld, app: App) -> None:
    copies.create(app, MANY)
    copies.create(app, ["empty"], size=0)
    copies.create(app, ["several-pieces"], size=3 * 4096 + 1)
    done = copies.tick(app, "replicator").figures
    assert (done["copied"], done["failed"]) == (len(MANY) + 2, 0)
    assert copies.copies() == {2: len(MANY) + 2}
    assert copies.owed() == []
    copies.agree()
    assert copies.tick(app, "replicator").figures["copied"] == 0
