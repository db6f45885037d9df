"""An arena for each test: a database, a folder and a bucket for objects, and an empty Valkey."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.s3.models import s3_backends

from reaper.dev.embedded import Moto, Valkey
from tests.services.drain.conftest import moto, numbers, valkey  # noqa: F401
from tests.support.races.world import Arena, folder
from tests.support.world import ACCOUNT


@pytest.fixture
def arena(
    dsn: str,
    valkey: Valkey,  # noqa: F811
    moto: Moto,  # noqa: F811
    tmp_path: Path,
) -> Iterator[Arena]:
    bucket = f"arena-{next(numbers)}"
    s3_backends[ACCOUNT]["aws"].create_bucket(bucket, "us-east-1")
    with folder() as path:
        arena = Arena(dsn, valkey.url, moto.endpoint_url, bucket, folder=path, reports=tmp_path)
        arena.cache().flushall()
        yield arena
