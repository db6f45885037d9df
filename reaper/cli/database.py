"""The database that a command asks; its driver is imported only then, because help has no use for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reaper.db.connection import Connection


@contextmanager
def connected(name: str, database_url: str | None) -> Iterator[Connection]:
    """A connection to a database with the schema of this release; the server knows it as reaper:NAME."""
    from reaper import config, db
    from reaper.migrate import check_schema

    settings = config.load("database_url", database_url=database_url)
    with db.connect(settings.dsn, f"reaper:{name}") as connection:
        check_schema(connection)
        yield connection
