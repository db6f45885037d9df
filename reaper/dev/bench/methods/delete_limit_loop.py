"""Seed 001's loop: DELETE … LIMIT 500 until fewer come back. Rows only: references are not counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

LIMIT = 500
_DELETE = """
delete from public.pastes
 where short_code in (select short_code from public.pastes where expires_at <= now() limit %s)
"""


@dataclass(frozen=True)
class DeleteLimitLoop:
    """Leaves every content behind with too high a count."""

    name: str = "DELETE … LIMIT 500 loop, rows only"
    promise: Promise = Promise.ROWS
    needs: Needs = Needs.DATABASE
    sample: int | None = None

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """One connection."""
        with db.connect(addresses.dsn, "bench:requeue") as connection:
            yield lambda: Work(_run(connection))


def _run(connection: Connection) -> int:
    total, deleted = 0, LIMIT
    while deleted == LIMIT:
        deleted = connection.execute(_DELETE, (LIMIT,)).rowcount
        total += deleted
    return total
