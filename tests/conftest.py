"""One PostgreSQL server for the whole run; each test gets a database cloned from a migrated template."""

import gc
import itertools
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pytest_postgresql import factories
from pytest_postgresql.executors import NoopExecutor

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate
from reaper.telemetry.logging import NAME

# Helpers assert outside of a test file; what they compared shall be seen, unless others imported them first.
TESTS = Path(__file__).parent
HELPERS = {
    ".".join(file.relative_to(TESTS.parent).with_suffix("").parts)
    for folder in ("support", "reliability")
    for file in TESTS.joinpath(folder).rglob("*.py")
}
pytest.register_assert_rewrite(*(HELPERS - sys.modules.keys()))

from tests.support import botocore_preload  # noqa: E402, F401  read once
from tests.support.cloned_databases import cloned  # noqa: E402

pytest_plugins = [
    "tests.support.paste_fixtures",
    "tests.support.writer_fixtures",
    "tests.support.copy_fixtures",
    "tests.support.world_fixtures",
    "tests.support.stranger_fixtures",
    "tests.support.ordeals",
    "tests.support.slow_tests",
]


numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="all sizes as promised: minutes more, some gigabytes"
    )
    parser.addoption("--screenshots", metavar="FOLDER", help="write pictures of the operators' page there")


def pytest_configure(config: pytest.Config) -> None:
    # A shell makes what it runs in the background deaf to Ctrl-C, and so all that the tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "long: a case that only --long runs, because others show nearly the same"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long cases out, unless they are asked for; ordeals that are given minutes have them all."""
    if config.getoption("long"):
        return
    has_time = config.getoption("minutes") is not None
    left = {
        item
        for item in items
        if item.get_closest_marker("long") and not (has_time and item.get_closest_marker("ordeal"))
    }
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the garbage collector need not look at it in each test."""
    gc.collect()
    gc.freeze()


class Sized(Protocol):
    """Chooses a size: the one that is promised with --long, else one that shows the same sooner."""

    def __call__(self, promised: int, short: int) -> int: ...


class Connect(Protocol):
    """Opens one more connection to the test's database; it is closed after the test."""

    def __call__(self, **options: Any) -> psycopg.Connection[Any]: ...


@pytest.fixture(autouse=True)
def fresh_logging() -> Iterator[None]:
    """Whoever configured logging bound it to a stream that ends with the test."""
    yield
    logger = logging.getLogger(NAME)
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


@pytest.fixture(scope="session")
def sized(request: pytest.FixtureRequest) -> Sized:
    """How many rows, rounds or clients a test takes."""
    return lambda promised, short: promised if request.config.getoption("long") else short


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


@pytest.fixture(scope="session")
def maintenance(server: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """The connection that creates and drops databases."""
    with closing(psycopg.connect(server.dsn(), autocommit=True)) as connection:
        yield connection


@pytest.fixture
def db(
    maintenance: psycopg.Connection[Any], server: Postgres, migrated_template: NoopExecutor
) -> Iterator[psycopg.Connection[Any]]:
    """A superuser's connection, in autocommit, to a database that only this test uses."""
    name = f"reaper_test_{next(numbers)}"
    with cloned(maintenance, server, migrated_template.template_dbname, name) as connection:
        yield connection


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
def empty_db_dsn(maintenance: psycopg.Connection[Any], server: Postgres) -> Iterator[str]:
    """The address of a database without any migration."""
    name = sql.Identifier("reaper_empty")
    maintenance.execute(sql.SQL("create database {} strategy file_copy").format(name))
    yield server.dsn("reaper_empty")
    maintenance.execute(sql.SQL("drop database {} with (force)").format(name))
