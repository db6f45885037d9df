"""Worlds: each test has a database and buckets of its own; the Valkey server is emptied before each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from reaper.store.store import Store
from tests.support import ports
from tests.support.folder_store import folder_in_memory
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.watched_store import WatchedStore
from tests.support.world import World


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    """The cache that all tests of a process share, one after the other."""
    with Valkey.start() as running:
        yield running


@pytest.fixture
def s3_double() -> Iterator[ScriptedS3]:
    """An S3 server that does as it is told, with one bucket."""
    with ScriptedS3("pastes") as running:
        yield running


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, for as long as the test runs."""
    with ports.closed_port() as port:
        yield port


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder in memory."""
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture
def world(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[World]:
    """One bucket, and a cache."""
    with World(dsn, valkey.url, {"default": ServedBucket(s3_double, "pastes")}, scratch) as world:
        yield world


@pytest.fixture
def populate(world: World) -> Callable[..., None]:
    """Fills the world."""
    return world.populate


@pytest.fixture
def opened(world: World) -> Iterator[tuple[Store, dict[str, WatchedStore]]]:
    """A store in the world, and its backends under observation."""
    with world.opened() as opened:
        yield opened


@pytest.fixture
def store(opened: tuple[Store, dict[str, WatchedStore]]) -> Store:
    """A store in the world."""
    return opened[0]


@pytest.fixture
def backend(opened: tuple[Store, dict[str, WatchedStore]]) -> WatchedStore:
    """The backend of the store, under observation."""
    return opened[1]["default"]
