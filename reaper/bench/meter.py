"""What a run costs: time, CPU by who used it, WAL, and what became of rows and index entries."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from reaper import db
from reaper.bench import machine
from reaper.bench.arena import Arena
from reaper.bench.place import Place
from reaper.db import Connection

_TABLES = """
select coalesce(sum(n_tup_upd), 0)::bigint, coalesce(sum(n_tup_hot_upd), 0)::bigint,
       coalesce(sum(n_dead_tup), 0)::bigint
  from pg_stat_user_tables where schemaname = 'public' and relname in ('pastes', 'content')
"""
_WAL_RECORDS = """
select "resource_manager/record_type", count from pg_get_wal_stats(%s, %s, true) where count > 0
"""


@dataclass(frozen=True)
class Cost:
    """What one run cost altogether."""

    seconds: float
    server_cpu: float
    # CPU of everybody on the machine who does not belong to the run, as a share of all of it.
    others: float
    wal_bytes: int
    updates: int
    hot_updates: int
    dead_tuples: int
    # How many WAL records of each kind, where pg_walinspect is there.
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def index_inserts(self) -> int | None:
        """New entries in B-trees; None where nobody counted."""
        if not self.records:
            return None
        return sum(n for kind, n in self.records.items() if kind.startswith("Btree/INSERT"))


class Meter:
    """Reads everything before and after; what lies between is the cost."""

    def __init__(self, arena: Arena, place: Place) -> None:
        self._arena = arena
        self._place = place
        self._server = machine.parent_of(arena.admin.info.backend_pid)
        self.cost: Cost | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the block."""
        lsn, updated = self._lsn(), self._tables()
        busy, ours, server = machine.busy_seconds(), self._ours(), machine.cpu_seconds(self._server)
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        busy, ours = machine.busy_seconds() - busy, self._ours() - ours
        server = machine.cpu_seconds(self._server) - server
        end = self._lsn()
        after = self._tables()
        self.cost = Cost(
            seconds=seconds,
            server_cpu=server,
            others=max(0.0, busy - ours) / (seconds * (os.cpu_count() or 1)),
            wal_bytes=self._wal_bytes(lsn, end),
            updates=after[0] - updated[0],
            hot_updates=after[1] - updated[1],
            dead_tuples=after[2],
            records=self._records(lsn, end),
        )

    def _ours(self) -> float:
        """This process with all its children; the servers' keepers are among them."""
        return machine.cpu_seconds(os.getpid())

    def _lsn(self) -> str:
        row = self._arena.admin.execute("select pg_current_wal_insert_lsn()::text").fetchone()
        return str(row[0]) if row else "0/0"

    def _wal_bytes(self, start: str, end: str) -> int:
        row = self._arena.admin.execute("select pg_wal_lsn_diff(%s, %s)", (end, start)).fetchone()
        return int(row[0]) if row else 0

    def _tables(self) -> tuple[int, int, int]:
        with db.connect(self._place.dsn, "bench:admin") as connection:
            return _table_figures(connection)

    def _records(self, start: str, end: str) -> dict[str, int]:
        try:
            rows = self._arena.admin.execute(_WAL_RECORDS, (start, end)).fetchall()
        except psycopg.errors.UndefinedFunction:
            return {}
        return {str(kind): int(count) for kind, count in rows}


def _table_figures(connection: Connection) -> tuple[int, int, int]:
    row = connection.execute(_TABLES).fetchone()
    return (int(row[0]), int(row[1]), int(row[2])) if row else (0, 0, 0)
