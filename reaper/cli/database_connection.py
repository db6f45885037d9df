"""The database that a command asks; its driver is imported only then, because help has no use for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reaper.queries import Queries


@contextmanager
def asking(name: str, database_url: str | None) -> Iterator[Queries]:
    """Questions to a database with the schema of this release; the server knows the caller as reaper:NAME."""
    from reaper import config
    from reaper.ops import connection

    settings = config.load("database_url", database_url=database_url)
    with connection.asking(settings.dsn, name) as q:
        yield q
