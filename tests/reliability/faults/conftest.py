"""A misbehaving S3, somebody who talks to it, and servers that are killed and replaced."""

from collections.abc import Iterator

import pytest

from reaper.dev.embedded import Valkey
from tests.services.drain.conftest import valkey  # noqa: F401
from tests.support.faults.s3_storm import StormyWorld
from tests.support.faults.world import Ground
from tests.support.postgres_failover import Servers
from tests.support.races.world import folder
from tests.support.s3_double.server import ScriptedS3
from tests.support.s3_fixtures import open_store, service_models_read_once  # noqa: F401


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes while we verify, and a store looks again soon after a connection was refused."""
    monkeypatch.setattr("psycopg_pool.base.AttemptWithBackoff.INITIAL_DELAY", 0.05)
    monkeypatch.setattr("reaper.ops.verify.GRACE", 0)


@pytest.fixture
def stormy(dsn: str, valkey: Valkey) -> Iterator[StormyWorld]:  # noqa: F811
    """In good weather at first."""
    with ScriptedS3("stormy") as server:
        world = StormyWorld(dsn, valkey.url, server.endpoint_url, "stormy", server=server)
        world.cache().flushall()
        yield world


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """A PostgreSQL that may be killed; all tests of faults share it."""
    with Servers() as servers:
        yield servers


@pytest.fixture
def ground(servers: Servers) -> Iterator[Ground]:
    """A database and a folder of its own on servers that fail; without a cache."""
    with servers.database() as name, folder() as path:
        yield Ground(servers.dsn(name), "", "http://127.0.0.1:1", "nowhere", folder=path)
        servers.remove_standby()
