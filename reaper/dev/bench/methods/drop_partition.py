"""The limit, out of reach for rows with references: what is due lies in a partition, which is dropped.

This is what pg_partman does. No row is looked at, so nothing is known of what the rows referred to: content,
counts and objects stay. It needs a key of (short_code, expires_at), so that a code is unique no more, and an
expiry that never changes and falls together with a partition's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

# The old table keeps its place under another name, since reaper's views read it.
_RESHAPE = """
alter table public.pastes rename to pastes_before;
create table public.pastes (like public.pastes_before including defaults including constraints)
    partition by range (expires_at);
create table public.pastes_due partition of public.pastes for values from (minvalue) to (now());
create table public.pastes_live partition of public.pastes for values from (now()) to (maxvalue);
insert into public.pastes select * from public.pastes_before;
alter table public.pastes add primary key (short_code, expires_at);
alter table public.pastes
    add foreign key (content_hash) references public.content (content_hash) on delete restrict;
create index on public.pastes (content_hash);
create index on public.pastes (expires_at, short_code);
"""
_SETTLE = ("vacuum (analyze, freeze) public.pastes_due", "checkpoint")
_COUNT = "select count(*) from public.pastes_due"
# Without a lock that readers of the other partitions would have to wait for.
_DETACH = "alter table public.pastes detach partition public.pastes_due concurrently"
_DROP = "drop table public.pastes_due"


@dataclass(frozen=True)
class DropPartition:
    """Leaves every content behind with too high a count."""

    name: str = "DROP PARTITION, rows only"
    promise: Promise = Promise.ROWS
    needs: Needs = Needs.DATABASE
    sample: int | None = None

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """The table is cut into what is due and what is not."""
        with db.connect(addresses.dsn, "bench:partition") as connection:
            rows = _reshape(connection)
            yield lambda: _run(connection, rows)


def _reshape(connection: Connection) -> int:
    with connection.transaction():
        for statement in _RESHAPE.strip().rstrip(";").split(";"):
            connection.execute(statement)
    for statement in _SETTLE:
        connection.execute(statement)
    row = connection.execute(_COUNT).fetchone()
    return int(row[0]) if row else 0


def _run(connection: Connection, rows: int) -> Work:
    connection.execute(_DETACH)
    connection.execute(_DROP)
    return Work(rows)
