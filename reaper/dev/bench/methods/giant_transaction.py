"""The floor: three statements in one giant transaction, on the same tables with all constraints on.

No crash safety but all or nothing, no objects, no cache, locks on everything until the end. Not
for production.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

_DELETE_PASTES = """
create temp table spent on commit drop as
with gone as (delete from public.pastes where expires_at <= now() returning content_hash)
select content_hash, count(*) as refs from gone group by content_hash
"""
_SUBTRACT = """
update public.content c set ref_count = c.ref_count - s.refs
  from spent s where s.content_hash = c.content_hash
"""
_DELETE_CONTENT = "delete from public.content where ref_count = 0"


@dataclass(frozen=True)
class GiantTransaction:
    """Delete all due pastes, subtract all references, delete all content that is left without."""

    name: str = "floor"
    promise: Promise = Promise.DATABASE
    needs: Needs = Needs.DATABASE
    sample: int | None = None

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """One connection."""
        with db.connect(addresses.dsn, "bench:floor") as connection:
            yield lambda: _run(connection)


def _run(connection: Connection) -> Work:
    with connection.transaction():
        connection.execute(_DELETE_PASTES)
        row = connection.execute("select coalesce(sum(refs), 0)::bigint from spent").fetchone()
        connection.execute(_SUBTRACT)
        connection.execute(_DELETE_CONTENT)
    return Work(int(row[0]) if row else 0)
