"""A million rows are adopted while the application writes: only announced locks stop it, for moments.

Without --long there are a tenth of the rows.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import psycopg
import pytest

from reaper.migrate import migrate, plan
from tests.support.migrate.existing_application import FOREIGN_KEY, build
from tests.support.migrate.release_folder import admin, one

WRITERS = 2
# Modes that stop an INSERT, UPDATE or DELETE.
STRONG = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"]
HELD = """
    select extract(epoch from clock_timestamp())::float8, l.pid || ' ' || l.virtualtransaction,
           l.relation::regclass::text, l.mode
      from pg_locks l
     where l.locktype = 'relation' and l.relation in ('public.pastes'::regclass, 'public.content'::regclass)
       and l.granted and l.mode = any (%s)
"""


@dataclass
class Sampler:
    """Watches who holds a strong lock on the tables, and for how long."""

    dsn: str
    samples: int = 0
    seen: dict[tuple[str, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def watch(self, stop: Event) -> None:
        with admin(self.dsn) as connection:
            while not stop.wait(0.002):
                for at, transaction, table, mode in connection.execute(HELD, [STRONG]):
                    self.seen[transaction, table, mode].append(at)
                self.samples += 1

    def held(self) -> dict[tuple[str, str], float]:
        """The longest time, in seconds, that one transaction was seen to hold each mode on each table."""
        longest: dict[tuple[str, str], float] = defaultdict(float)
        for (_, table, mode), times in self.seen.items():
            longest[table, mode] = max(longest[table, mode], times[-1] - times[0])
        return longest


def write(dsn: str, number: int, stop: Event) -> tuple[int, float]:
    """Insert, change and delete single rows; the number of transactions, and how long the longest took."""
    done, longest = 0, 0.0
    with psycopg.connect(dsn, autocommit=True) as connection:
        for n in count():
            if stop.is_set():
                return done, longest
            for statements in single_rows(f"w-{number}-{n}", n):
                began = time.monotonic()
                with connection.transaction():
                    for statement, *values in statements:
                        connection.execute(str(statement).encode(), values)
                longest = max(longest, time.monotonic() - began)
                done += 1
    return done, longest


def single_rows(code: str, n: int) -> list[list[list[object]]]:
    add = ["update content set ref_count = ref_count + 1 where content_hash = %s", f"hash-{n}"]
    insert = ["insert into pastes (short_code, content_hash) values (%s, %s)", code, f"hash-{n}"]
    return [
        [["insert into content (content_hash) values (%s)", code]],
        [insert, add] if n % 2 else [add, insert],
        [["update pastes set title = 'changed' where short_code = %s", code]],
        [["update pastes set expires_at = now() where short_code = %s", f"code-{n * 3 + 1}"]],
        [["delete from content where content_hash = %s", code]],
    ]


def announced(dsn: str) -> set[tuple[str, str]]:
    """The table and mode of each lock that a step of the plan speaks of."""
    return {
        (table, "".join(word.capitalize() for word in mode.split()) + "Lock")
        for step in plan(dsn).steps
        for before, mode in re.findall(r"(.*?)((?:\b(?:ACCESS|ROW|SHARE|UPDATE|EXCLUSIVE)\b ?)+)", step.locks)
        for table in re.findall(r"\bpublic\.(pastes|content)\b", before)
    }


def test_the_announcements_are_understood(empty_db_dsn: str) -> None:
    build(empty_db_dsn)
    told = announced(empty_db_dsn)
    assert ("content", "ShareRowExclusiveLock") in told
    assert ("pastes", "AccessExclusiveLock") in told
    assert not {("pastes", "ShareLock"), ("content", "ShareLock"), ("pastes", "ExclusiveLock")} & told


INDEXES = ["create index due on pastes (expires_at)", "create index of on pastes (content_hash)"]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("rows", "more"),
    [(1_000_000, []), (100_000, [FOREIGN_KEY]), (100_000, [FOREIGN_KEY, *INDEXES])],
    ids=["bare", "linked", "linked and indexed"],
)
def test_a_million_rows_are_adopted_while_the_application_writes(
    empty_db_dsn: str,
    rows: int,
    more: list[str],
    sized: Callable[[int, int], int],
    record_property: Callable[[str, object], None],
) -> None:
    build(empty_db_dsn, *more, rows=sized(rows, rows // 10))
    told = announced(empty_db_dsn)
    stop, sampler = Event(), Sampler(empty_db_dsn)
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        watching = threads.submit(sampler.watch, stop)
        writing = [threads.submit(write, empty_db_dsn, n, stop) for n in range(WRITERS)]
        began = time.monotonic()
        try:
            migrate(empty_db_dsn)
        finally:
            took = time.monotonic() - began
            stop.set()
        watching.result()
        written = [future.result() for future in writing]
    figures = {
        "migration": f"{took:.2f} s",
        "samples": sampler.samples,
        "transactions": sum(done for done, _ in written),
        "longest transaction": f"{max(longest for _, longest in written) * 1000:.0f} ms",
        **{f"{mode} on {table}": f"{span * 1000:.0f} ms" for (table, mode), span in sampler.held().items()},
    }
    for name, figure in figures.items():
        record_property(name, figure)
        print(f"{name}: {figure}")

    assert one(empty_db_dsn, "select count(*) from pastes where content_hash = 'hash-7'") >= 2
    unannounced = {lock: span for lock, span in sampler.held().items() if lock not in told}
    assert not {lock: span for lock, span in unannounced.items() if span > 0.1}
    assert all(span < 1 for span in sampler.held().values())
    assert all(done > 0 and longest < 2 for done, longest in written)
