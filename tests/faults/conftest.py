"""A misbehaving S3, somebody who talks to it, and a world that has nothing else."""

from collections.abc import Iterator

import pytest

from reaper.embedded import Valkey
from tests.adapters.s3_fixtures import open_store, service_models_read_once  # noqa: F401
from tests.drain.conftest import valkey  # noqa: F401
from tests.faults.scripted_s3 import ScriptedS3
from tests.faults.stormy import StormyWorld


@pytest.fixture
def stormy(dsn: str, valkey: Valkey) -> Iterator[StormyWorld]:  # noqa: F811
    """In good weather at first."""
    with ScriptedS3("stormy") as server:
        world = StormyWorld(dsn, valkey.url, server.endpoint_url, "stormy", server=server)
        world.cache().flushall()
        yield world
