"""Where the time of a drain goes: per statement of both ways of release, in both orders.

One client drains a table while pg_stat_statements counts every statement, also those inside functions.
Times are those of the clock: on a machine that does other things too, compare shares, not microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench import machine
from reaper.dev.bench.figure_tables import FigureTable
from reaper.dev.bench.methods.plain_sql_client import Client
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.workload import Order, Workload

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "all",
    "pg_stat_statements.track_planning": "on",
}
# As large as those of a lane that has grown.
BATCH = 5000
FOREIGN_KEY = "foreign key: does a paste name the content?"
CONTENT_DELETE = "release_contents: DELETE of contents"
# What a statement is for, and how its text is recognised.
STEPS = (
    ("lock_due: oldest due rows", "select array_agg(due.short_code)%"),
    ("mark_rows: UPDATE of the rows", "with marked as%"),
    ("lock_pastes: marked rows by address", "select array_agg(l.short_code)%from reaper.pastes%"),
    ("lock_contents: contents in hash order", "select coalesce(array_agg(l.content_hash)%"),
    ("lock_contents: which are held by others", "v_others := %"),
    ("release_locked: DELETE of pastes", "with gone as%delete from reaper.pastes%"),
    ("release_contents: does a paste name them?", "select array_agg(j.content_hash)%"),
    (CONTENT_DELETE, "with gone as%delete from reaper.content c%c.place%"),
    (FOREIGN_KEY, "SELECT % FROM ONLY %pastes% FOR KEY SHARE OF x"),
    ("release_contents: UPDATE of counts", "update reaper.content c%a (place, refs)%"),
    ("release_objects: names that return", "select array_agg(n.content_hash)%"),
    ("journal: batch written", "insert into reaper.batches%"),
    ("journal: batch released", "update reaper.batches%"),
    ("require_binding", "SELECT reaper_internal.require_binding(%"),
    ("require_kept_rights", "SELECT reaper_internal.require_kept_rights(%"),
    ("finish_batch", "select rows_deleted from reaper.finish_batch(%"),
)
_TIMES = """
select coalesce(sum(s.total_exec_time + s.total_plan_time), 0) / 1000, coalesce(sum(s.wal_bytes), 0)::float8
  from public.pg_stat_statements s
 where s.dbid = (select d.oid from pg_database d where d.datname = current_database())
   and ltrim(regexp_replace(s.query, '\\s+', ' ', 'g')) like %s
"""


@dataclass(frozen=True)
class Profile:
    """One drain: seconds by the clock, CPU of the server and the client, and seconds and WAL of each step."""

    name: str
    rows: int
    seconds: float
    server_cpu: float
    client_cpu: float
    steps: tuple[tuple[str, float, float], ...]

    def table(self) -> FigureTable:
        """Microseconds per row, the costliest first; the rest is PL/pgSQL, commits and the client."""
        shown = sorted((step for step in self.steps if step[1]), key=lambda step: -step[1])
        rest = self.seconds - sum(seconds for _, seconds, _ in shown)
        rows = [*shown, ("the rest: PL/pgSQL, commits, the client", rest, 0.0)]
        return FigureTable(
            f"{self.name}: {self.seconds / self.rows * 1e6:.1f} µs a row,"
            f" CPU of the server {self.server_cpu / self.rows * 1e6:.1f},"
            f" of the client {self.client_cpu / self.rows * 1e6:.1f}",
            ("", "µs/row", "share", "WAL B/row"),
            tuple(
                (name, f"{s / self.rows * 1e6:.2f}", f"{s / self.seconds:.0%}", f"{wal / self.rows:.0f}")
                for name, s, wal in rows
            ),
        )


def measure(rows: int, announce: Callable[[str], None], pg_bin: Path | None = None) -> list[Profile]:
    """Both ways in both orders, each on a fresh copy."""
    return list(_measure(rows, announce, pg_bin))


def _measure(rows: int, announce: Callable[[str], None], pg_bin: Path | None) -> Iterator[Profile]:
    with Servers(pg_bin, SETTINGS) as servers:
        for order in Order:
            workload = Workload(f"{order.value} order", rows, order)
            for way in ("direct", "mark"):
                name = f"{way}, {order.value} order, PostgreSQL {servers.postgres.version}"
                announce(name)
                with (
                    servers.copy(workload) as addresses,
                    db.connect(addresses.dsn, "bench:profile") as connection,
                ):
                    yield _profile(connection, name, direct=way == "direct")


def _profile(connection: Connection, name: str, *, direct: bool) -> Profile:
    connection.execute("create extension if not exists pg_stat_statements schema public")
    connection.execute("select public.pg_stat_statements_reset()")
    backend = connection.info.backend_pid
    began, cpu, own = time.perf_counter(), machine.cpu_seconds(backend), time.thread_time()
    rows = Client(connection, direct, BATCH).run()
    seconds = time.perf_counter() - began
    cpu, own = machine.cpu_seconds(backend) - cpu, time.thread_time() - own
    return Profile(name, rows, seconds, cpu, own, tuple(_steps(connection)))


def _steps(connection: Connection) -> Iterator[tuple[str, float, float]]:
    times = {name: _times(connection, pattern) for name, pattern in STEPS}
    for name, (seconds, wal) in times.items():
        inner = times[FOREIGN_KEY] if name == CONTENT_DELETE else (0.0, 0.0)
        yield name, seconds - inner[0], wal - inner[1]


def _times(connection: Connection, pattern: str) -> tuple[float, float]:
    row: Sequence[float] | None = connection.execute(_TIMES, (pattern,)).fetchone()
    return (float(row[0]), float(row[1])) if row else (0.0, 0.0)
