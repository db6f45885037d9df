from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from moto.s3.models import s3_backends
from pytest_postgresql.executors import NoopExecutor

from reaper import config
from reaper.app import App
from reaper.dev.embedded import Moto, Postgres, Valkey
from reaper.migrate.release_folders import installed_folders
from tests.services.drain.conftest import moto, numbers, valkey  # noqa: F401
from tests.support.cloned_databases import cloned
from tests.support.detectors.world import House
from tests.support.world import ACCOUNT, LOGIN

NAME = "reaper_house"


@pytest.fixture(scope="module")
def house_db(
    maintenance: psycopg.Connection[Any], server: Postgres, migrated_template: NoopExecutor
) -> Iterator[psycopg.Connection[Any]]:
    """A database that all damages share, because each is rolled back."""
    with cloned(maintenance, server, migrated_template.template_dbname, NAME) as connection:
        yield connection


@pytest.fixture(scope="module")
def house(
    house_db: psycopg.Connection[Any],
    server: Postgres,
    moto: Moto,  # noqa: F811
    valkey: Valkey,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    """Everything in order."""
    with pytest.MonkeyPatch.context() as patch, redis.Redis.from_url(valkey.url) as cache:
        for name, value in LOGIN.items():
            patch.setenv(name, value)
        # The module may come twice in one process, when tests are shared out among several.
        number = next(numbers)
        buckets = {"default": f"house-{number}", "east": f"house-{number}-east"}
        for bucket in buckets.values():
            s3_backends[ACCOUNT]["aws"].create_bucket(bucket, "us-east-1")
        patch.setenv("REAPER_CONFIG", str(written(tmp_path_factory.mktemp("house"), moto, buckets)))
        settings = config.load_all(
            "database_url",
            "backends",
            database_url=server.dsn(NAME),
            redis_url=valkey.url,
            cache_key="paste:{short_code}",
        )
        cache.flushall()
        with App(settings) as app:
            house = House(house_db, app, installed_folders(), buckets, cache)
            house.furnish()
            yield house


def written(folder: Path, moto: Moto, buckets: dict[str, str]) -> Path:  # noqa: F811
    """A configuration with both backends."""
    file = folder / "reaper.toml"
    backends = (
        f'[backends.{name}]\nbucket = "{bucket}"\nendpoint_url = "{moto.endpoint_url}"\n'
        for name, bucket in buckets.items()
    )
    file.write_text("".join(backends))
    return file
