"""Worlds with workers; each test has its own database and bucket."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.s3.models import s3_backends

from reaper.embedded import Moto, Valkey
from tests.drain.conftest import numbers, populate  # noqa: F401
from tests.drain.world import ACCOUNT
from tests.services.world import Works


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
