from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pytest_postgresql.executors import NoopExecutor

from reaper.dev.embedded import Postgres, Valkey
from tests.support.cloned_databases import cloned
from tests.support.detectors.world import DamageableWorld
from tests.support.folder_store import folder_in_memory
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3

NAME = "reaper_damaged"


@pytest.fixture(scope="module")
def damaged_db(
    maintenance: psycopg.Connection[Any], server: Postgres, migrated_template: NoopExecutor
) -> Iterator[psycopg.Connection[Any]]:
    """A database that all damages share, because each is rolled back."""
    with cloned(maintenance, server, migrated_template.template_dbname, NAME) as connection:
        yield connection


@pytest.fixture(scope="module")
def world(damaged_db: psycopg.Connection[Any], server: Postgres, valkey: Valkey) -> Iterator[DamageableWorld]:
    """Everything in order."""
    with folder_in_memory() as folder, ScriptedS3("pastes", "east") as s3:
        buckets = {"default": ServedBucket(s3, "pastes"), "east": ServedBucket(s3, "east")}
        with DamageableWorld(server.dsn(NAME), valkey.url, {**buckets}, folder, db=damaged_db) as world:
            yield world
