"""A world for races: a database, and a folder for objects that processes share without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from tests.support.folder_store import FolderStore
from tests.support.races.world import RaceWorld


@pytest.fixture
def races(dsn: str, valkey: Valkey, scratch: Path) -> Iterator[RaceWorld]:
    with RaceWorld(dsn, valkey.url, {"default": FolderStore(scratch / "objects")}, scratch) as races:
        yield races
