"""Stores of pastes; each test has its own database and bucket, and an empty Valkey."""

from collections.abc import Iterator

import pytest
from moto.s3.models import s3_backends

from reaper.dev.embedded import Moto, Valkey
from reaper.store.store import Store
from tests.services.drain.conftest import moto, numbers, valkey  # noqa: F401
from tests.support.store_world import Shop, Watched
from tests.support.world import ACCOUNT


@pytest.fixture
def shop(dsn: str, valkey: Valkey, moto: Moto) -> Shop:  # noqa: F811
    bucket = f"shop-{next(numbers)}"
    s3_backends[ACCOUNT]["aws"].create_bucket(bucket, "us-east-1")
    shop = Shop(dsn, valkey.url, moto.endpoint_url, bucket)
    shop.cache().flushall()
    return shop


@pytest.fixture
def opened(shop: Shop) -> Iterator[tuple[Store, dict[str, Watched]]]:
    with shop.opened() as opened:
        yield opened


@pytest.fixture
def store(opened: tuple[Store, dict[str, Watched]]) -> Store:
    return opened[0]


@pytest.fixture
def backend(opened: tuple[Store, dict[str, Watched]]) -> Watched:
    """The only backend, under observation."""
    return opened[1]["default"]
