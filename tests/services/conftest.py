"""Worlds with workers; each test has its own database and buckets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from tests.support.s3_double.bucket import ServedBucket, buckets_behind_proxies
from tests.support.s3_double.server import ScriptedS3
from tests.support.two_backends import TwoBackends
from tests.support.worker_world import InProcessWorker, WorkerWorld


@pytest.fixture
def world(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[WorkerWorld]:
    with WorkerWorld(dsn, valkey.url, {"default": ServedBucket(s3_double, "pastes")}, scratch) as world:
        yield world


@pytest.fixture
def pair(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[TwoBackends]:
    """Two backends."""
    with (
        buckets_behind_proxies(s3_double, "default", "cold") as buckets,
        TwoBackends(dsn, valkey.url, {**buckets}, scratch) as pair,
    ):
        pair.register()
        yield pair


@pytest.fixture
def in_process(world: WorkerWorld) -> Iterator[InProcessWorker]:
    with world.in_process_worker() as in_process:
        yield in_process
