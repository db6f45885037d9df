"""A world for crashes: a database, two folders for objects, and an empty Valkey."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from tests.support.crash_points.jobs import BACKENDS, JOBS, Passage
from tests.support.crash_points.world import CrashWorld
from tests.support.folder_store import FolderStore
from tests.support.world import Bucket


@pytest.fixture
def world(dsn: str, valkey: Valkey, scratch: Path) -> Iterator[CrashWorld]:
    folders: dict[str, Bucket] = {name: FolderStore(scratch / name) for name in BACKENDS}
    with CrashWorld(dsn, valkey.url, folders, scratch) as world:
        yield world


@pytest.fixture(scope="session")
def known_passages() -> dict[str, Passage]:
    return {}


@pytest.fixture
def passages(world: CrashWorld, known_passages: dict[str, Passage]) -> dict[str, Passage]:
    """Which way every job goes, found out once."""
    if not known_passages:
        known_passages.update({job: world.rehearse(job) for job in JOBS})
    return known_passages
