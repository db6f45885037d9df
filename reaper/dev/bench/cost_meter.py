"""What a run costs: time, CPU by who used it, WAL, and what became of rows and index entries."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench import machine
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.servers import Servers

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
    # CPU of all processes of the machine that do not belong to the run, as a share of all of it.
    others: float
    wal_bytes: int
    updates: int
    hot_updates: int
    dead_tuples: int
    # How many WAL records of each kind, where pg_walinspect is there.
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def index_inserts(self) -> int | None:
        """New entries in B-trees; None where they were not counted."""
        if not self.records:
            return None
        return sum(n for kind, n in self.records.items() if kind.startswith("Btree/INSERT"))


@dataclass(frozen=True)
class Usage:
    """Time, CPU and WAL between two moments."""

    seconds: float
    server_cpu: float
    others: float
    wal: tuple[str, str]


class CostMeter:
    """Reads everything before and after; what lies between is the cost."""

    def __init__(self, servers: Servers, addresses: Addresses) -> None:
        self._arena = servers
        self._addresses = addresses
        self._server = machine.parent_of(servers.admin.info.backend_pid)
        self._tables_before = self._tables()
        self._usage: Usage | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the block."""
        lsn, busy, ours = self._lsn(), machine.busy_seconds(), self._ours()
        server, began = machine.cpu_seconds(self._server), time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        server = machine.cpu_seconds(self._server) - server
        busy, ours = machine.busy_seconds() - busy, self._ours() - ours
        others = max(0.0, busy - ours) / (seconds * (os.cpu_count() or 1))
        self._usage = Usage(seconds, server, others, (lsn, self._lsn()))

    def cost(self) -> Cost:
        """What the block cost; connections report their rows when they end, so ask after that."""
        assert self._usage is not None
        updates, hot_updates, dead = self._tables()
        return Cost(
            seconds=self._usage.seconds,
            server_cpu=self._usage.server_cpu,
            others=self._usage.others,
            wal_bytes=self._wal_bytes(*self._usage.wal),
            updates=updates - self._tables_before[0],
            hot_updates=hot_updates - self._tables_before[1],
            dead_tuples=dead,
            records=self._records(*self._usage.wal),
        )

    def _ours(self) -> float:
        """This process with all its children; the servers' supervisors are among them."""
        return machine.cpu_seconds(os.getpid())

    def _lsn(self) -> str:
        row = self._arena.admin.execute("select pg_current_wal_flush_lsn()::text").fetchone()
        return str(row[0]) if row else "0/0"

    def _wal_bytes(self, start: str, end: str) -> int:
        row = self._arena.admin.execute("select pg_wal_lsn_diff(%s, %s)", (end, start)).fetchone()
        return int(row[0]) if row else 0

    def _tables(self) -> tuple[int, int, int]:
        with db.connect(self._addresses.dsn, "bench:admin") as connection:
            return _table_figures(connection)

    def _records(self, start: str, end: str) -> dict[str, int]:
        try:
            rows = self._arena.admin.execute(_WAL_RECORDS, (start, end)).fetchall()
        # The function may not be installed, and after a checkpoint the first files may be gone.
        except (psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedFile):
            return {}
        return {str(kind): int(count) for kind, count in rows}


def _table_figures(connection: Connection) -> tuple[int, int, int]:
    row = connection.execute(_TABLES).fetchone()
    return (int(row[0]), int(row[1]), int(row[2])) if row else (0, 0, 0)
