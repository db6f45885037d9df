"""Worlds with workers; each test has its own database and buckets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.two_backends import TwoBackends, two_backends
from tests.support.worker_world import InProcessWorker, WorkerWorld


@pytest.fixture
def world(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[WorkerWorld]:
    with WorkerWorld(dsn, valkey.url, {"default": ServedBucket(s3_double, "pastes")}, scratch) as world:
        yield world


@pytest.fixture
def pair(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[TwoBackends]:
    """Two backends."""
    with two_backends(dsn, valkey.url, s3_double, scratch, "default", "cold") as pair:
        yield pair


@pytest.fixture
def in_process(world: WorkerWorld) -> Iterator[InProcessWorker]:
    with world.in_process_worker() as in_process:
        yield in_process
