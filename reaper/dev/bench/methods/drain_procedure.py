"""`call reaper.drain()`: the database half of a drain, from one connection of psql."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses


@dataclass(frozen=True)
class DrainProcedure:
    """Its released batches wait for a worker, who does the rest."""

    # Rows per batch, where not the procedure's own default.
    batch_size: int | None = None
    promise: Promise = Promise.JOURNALLED
    needs: Needs = Needs.DATABASE
    sample: int | None = None

    @property
    def name(self) -> str:
        """How tables and results call it."""
        return f"call reaper.drain({self.batch_size or ''})"

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """One connection."""
        with db.connect(addresses.dsn, "bench:call") as connection:
            yield lambda: _run(connection, self.batch_size)


def _run(connection: Connection, batch_size: int | None) -> Work:
    connection.execute(f"call reaper.drain({batch_size or ''})")
    row = connection.execute(
        "select coalesce(sum(cardinality(short_codes)), 0)::bigint"
        "  from reaper.batches where state = 'RELEASED'"
    ).fetchone()
    return Work(int(row[0]) if row else 0)
