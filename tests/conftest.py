"""One PostgreSQL server for the whole run; each test gets a database cloned from a migrated template."""

from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Protocol

import psycopg
import pytest
import structlog
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pytest_postgresql import factories

from reaper.embedded import Postgres
from reaper.migrate import migrate

pytest_plugins = ["tests.paste_fixtures", "tests.door_fixtures"]


class Connect(Protocol):
    """Opens one more connection to the test's database; it is closed after the test."""

    def __call__(self, **options: Any) -> psycopg.Connection[Any]: ...


@pytest.fixture(autouse=True)
def fresh_logging() -> Iterator[None]:
    """Whoever configured logging bound it to a stream that ends with the test."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """The server that all tests share; what is cluster-wide in it, such as roles, is shared too."""
    with Postgres.start() as running:
        yield running


@pytest.fixture(scope="session")
def server_address(server: Postgres) -> SimpleNamespace:
    """The server in the shape in which pytest-postgresql's fixtures depend on one another."""
    return SimpleNamespace(
        host=server.host,
        port=server.port,
        user=server.user,
        password=None,
        options="",
        maintenance_dbname="postgres",
        template_dbname=None,
    )


def load_schema(host: str, port: int, user: str, dbname: str, **_: object) -> None:
    """Bring the template database to the newest schema."""
    migrate(make_conninfo(host=host, port=port, user=user, dbname=dbname))


migrated_template = factories.postgresql_noproc(
    dbname="reaper_test", load=[load_schema], depends_on="server_address"
)
cloned_database = factories.postgresql("migrated_template")


@pytest.fixture
def db(cloned_database: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A superuser's connection, in autocommit, to a database that only this test uses."""
    cloned_database.autocommit = True
    return cloned_database


@pytest.fixture
def dsn(db: psycopg.Connection[Any], server: Postgres) -> str:
    """The address of the test's own database."""
    return server.dsn(db.info.dbname)


@pytest.fixture
def connect(dsn: str) -> Iterator[Connect]:
    """Opens further connections to the test's own database, in autocommit unless told otherwise."""
    with ExitStack() as opened:

        def open_one(**options: Any) -> psycopg.Connection[Any]:
            connection: psycopg.Connection[Any] = psycopg.connect(dsn, **{"autocommit": True, **options})
            opened.callback(connection.close)
            return connection

        yield open_one


@pytest.fixture
def empty_db_dsn(server: Postgres) -> Iterator[str]:
    """The address of a database without any migration."""
    name = sql.Identifier("reaper_empty")
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(name))
        yield server.dsn("reaper_empty")
        admin.execute(sql.SQL("drop database {} with (force)").format(name))
