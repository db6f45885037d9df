"""Worlds with workers; each test has its own database and bucket."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from moto.s3.models import s3_backends

from reaper.dev.embedded import Moto, Valkey
from reaper.services.base import Context, Service, Tick
from tests.services.drain.conftest import numbers, populate  # noqa: F401
from tests.support.tcp_wire import Wire, tcp
from tests.support.two_backends import Pair
from tests.support.worker_world import InProcessWorker, Works
from tests.support.world import ACCOUNT


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    with Valkey.start() as running:
        yield running


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    with Moto.start() as running:
        yield running


@pytest.fixture
def world(dsn: str, valkey: Valkey, moto: Moto, tmp_path: Path) -> Iterator[Works]:
    bucket = f"works-{next(numbers)}"
    s3_backends[ACCOUNT]["aws"].create_bucket(bucket, "us-east-1")
    works = Works(dsn, valkey.url, moto.endpoint_url, bucket, logs=tmp_path)
    works.cache().flushall()
    yield works
    works.end()


@pytest.fixture
def pair(dsn: str, valkey: Valkey, moto: Moto, tmp_path: Path) -> Iterator[Pair]:
    port = urlsplit(moto.endpoint_url).port or 80
    (tmp_path / "logs").mkdir()
    with Wire(tcp(port)) as default, Wire(tcp(port)) as cold:
        pair = Pair(
            *(dsn, valkey.url, moto.endpoint_url, f"pair-{next(numbers)}"),
            logs=tmp_path / "logs",
            folder=tmp_path,
            wires={"default": default, "cold": cold},
        )
        pair.cache().flushall()
        pair.set_up()
        yield pair
        pair.end()


def service(tick: Callable[[Context], Tick], name: str = "sample", locked: bool = True) -> Service:
    return Service(name, "1 hour", tick, "for a test", locked)


@pytest.fixture
def in_process(world: Works) -> Iterator[InProcessWorker]:
    with world.in_process_worker() as in_process:
        yield in_process


def planned(world: Works, in_process: InProcessWorker) -> None:
    """All services have a next run, and none is due."""
    in_process.tick()
    world.sql("update reaper.services set next_run_at = reaper.clock() + interval '1 hour'")


def result(world: Works, name: str) -> Any:
    columns = "last_result, last_error, consecutive_failures, skipped, runs"
    return world.sql(f"select {columns} from reaper.schedule where name = %s", name)[0]
