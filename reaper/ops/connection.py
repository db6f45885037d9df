"""One connection for what an operator asks or orders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reaper import db
from reaper.migrate import check_schema
from reaper.queries import Queries


@contextmanager
def asking(dsn: str, slot: str) -> Iterator[Queries]:
    """Questions to a database whose schema is that of this release, or newer."""
    with db.connect(dsn, f"reaper:{slot}") as connection:
        check_schema(connection)
        yield Queries(connection)
