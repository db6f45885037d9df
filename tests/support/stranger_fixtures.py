"""A login that has no right but to connect."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.support.paste_fixtures import Connection

NAME = "stranger"


@pytest.fixture
def stranger_dsn(db: Connection, dsn: str) -> Iterator[str]:
    """How it connects; logins are cluster-wide, so it is removed again."""
    db.execute(f"create role {NAME} login")
    yield make_conninfo(dsn, user=NAME)
    db.execute("select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = %s", [NAME])
    db.execute(f"drop role {NAME}")


@pytest.fixture
def stranger(stranger_dsn: str) -> Iterator[Connection]:
    """A session of that login."""
    with psycopg.connect(stranger_dsn, autocommit=True) as connection:
        yield connection
