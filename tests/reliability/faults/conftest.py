"""A misbehaving S3, somebody who talks to it, and servers that are killed and replaced."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from tests.support.faults.s3_storm_world import S3StormWorld
from tests.support.faults.world import FaultWorld
from tests.support.folder_store import FolderStore
from tests.support.postgres_failover import Servers
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.s3_fixtures import open_store, service_models_read_once  # noqa: F401


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes while we verify, and a store looks again soon after a connection was refused."""
    monkeypatch.setattr("psycopg_pool.base.AttemptWithBackoff.INITIAL_DELAY", 0.05)
    monkeypatch.setattr("reaper.ops.verify.GRACE", 0)


@pytest.fixture
def stormy(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[S3StormWorld]:
    """Without faults at first."""
    s3_double.buckets.add("stormy")
    with S3StormWorld(dsn, valkey.url, {"default": ServedBucket(s3_double, "stormy")}, scratch) as world:
        yield world


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """A PostgreSQL that may be killed; all tests of faults share it."""
    with Servers() as servers:
        yield servers


@pytest.fixture
def world(servers: Servers, scratch: Path) -> Iterator[FaultWorld]:
    """A database of its own on servers that fail; without a cache."""
    with servers.database() as name:
        with FaultWorld(
            servers.dsn(name), "", {"default": FolderStore(scratch / "objects")}, scratch
        ) as world:
            yield world
        servers.remove_standby()
