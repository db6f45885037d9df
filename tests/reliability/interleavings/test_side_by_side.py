"""Eight clients drain while four writers insert and delete pastes of the same contents by plain SQL."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from threading import Event
from typing import Any

import psycopg
import pytest
from psycopg import errors

Connection = psycopg.Connection[Any]
Connect = Callable[[], Connection]

HOT = "hash-00001"
WRITERS = 4
# Half of the pastes are due. Of the contents one has a twentieth of all references, and a tenth of the others
# have due and live pastes: the due ones name the first 55 % of the contents, the live ones the last 55 %.
FILL = """
    insert into content (content_hash, object_key, size_bytes)
    select h, h || '/first', 100 from (select 'hash-' || lpad(n::text, 5, '0') as h
                                         from generate_series(1, {last}) as n) as hashes;
    insert into pastes (short_code, content_hash, expires_at)
    select 'due-' || n,
           'hash-' || lpad((case when n <= {hot} then 1 else 2 + n % ({share} - 1) end)::text, 5, '0'),
           now() - interval '1 day' + n * interval '1 second'
      from generate_series(1, {half}) as n;
    insert into pastes (short_code, content_hash, expires_at)
    select 'live-' || n,
           'hash-' || lpad((case when n <= {hot} then 1 else {last} - n % {share} end)::text, 5, '0'),
           now() + interval '1 day'
      from generate_series(1, {half}) as n;
    update content c set ref_count = n.refs
      from (select content_hash, count(*) as refs from pastes group by content_hash) as n
     where n.content_hash = c.content_hash;
    analyze pastes;
    analyze content;
"""
DUE = "select count(*) from pastes where expires_at <= reaper.clock()"
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
OTHERS = """
    select count(*) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""


@dataclass(frozen=True)
class Backlog:
    """So many pastes, half of them due, in a hundred batches."""

    pastes: int

    @property
    def half(self) -> int:
        return self.pastes // 2

    @property
    def contents(self) -> int:
        return self.pastes * 35 // 100

    @property
    def batch(self) -> int:
        return self.half // 100

    def fill(self, db: Connection) -> None:
        share, hot = self.contents * 55 // 100, self.half // 20
        db.execute(FILL.format(half=self.half, last=self.contents, share=share, hot=hot).encode())


def number(conn: Connection, query: str) -> int:
    row = conn.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def deadlocks(db: Connection) -> int:
    """All deadlocks of this database; a client's figures are complete when its backend is gone."""
    while number(db, OTHERS):
        continue
    return number(db, DEADLOCKS)


class Writer:
    """An application that counts its references itself, one content per transaction, in either order."""

    def __init__(self, conn: Connection, number: int, backlog: Backlog) -> None:
        self.conn, self.number, self.backlog = conn, number, backlog
        self.random = Random(number)
        self.done: Counter[str] = Counter()
        # Each writer deletes rows of its own: two of them on one row would be the application's deadlock.
        own = range(number + 1, backlog.half + 1, WRITERS)
        self.codes = [f"{kind}-{n}" for kind in ("due", "live") for n in own]

    def work_until(self, stop: Event) -> Counter[str]:
        while not stop.is_set():
            act = self.random.choice(
                [self.insert_first, self.count_first, self.delete_first, self.uncount_first]
            )
            try:
                with self.conn.transaction():
                    act()
                self.done[act.__name__] += 1
            except errors.ForeignKeyViolation:
                self.done["content gone"] += 1
            except LookupError:
                self.done["too late"] += 1
        return self.done

    def insert_first(self) -> None:
        content = self._any_content()
        self._insert(content)
        self._add(content, 1)

    def count_first(self) -> None:
        content = self._any_content()
        if self._add(content, 1) == 0:
            self.conn.execute(
                "insert into content (content_hash, object_key, ref_count)"
                " values (%s, gen_random_uuid()::text, 1)"
                " on conflict (content_hash) do update set ref_count = content.ref_count + 1",
                [content],
            )
        self._insert(content)

    def delete_first(self) -> None:
        code = self._any_code()
        row = self.conn.execute(
            "delete from pastes where short_code = %s returning content_hash", [code]
        ).fetchone()
        if row is None:
            raise LookupError(code)
        self._add(row[0], -1)

    def uncount_first(self) -> None:
        code = self._any_code()
        row = self.conn.execute("select content_hash from pastes where short_code = %s", [code]).fetchone()
        if row is None:
            raise LookupError(code)
        self._add(row[0], -1)
        if self.conn.execute("delete from pastes where short_code = %s", [code]).rowcount == 0:
            raise LookupError(code)

    def _add(self, content: str, by: int) -> int:
        change = "update content set ref_count = ref_count + %s where content_hash = %s"
        return self.conn.execute(change, [by, content]).rowcount

    def _insert(self, content: str) -> None:
        code = f"new-{self.number}-{self.done.total()}"
        expires = self.random.choice(["-1 minute", "1 day"])
        self.conn.execute(
            "insert into pastes (short_code, content_hash, expires_at) values (%s, %s, now() + %s::interval)",
            [code, content, expires],
        )
        self.codes.append(code)

    def _any_content(self) -> str:
        return (
            HOT if self.random.random() < 0.1 else f"hash-{self.random.randint(1, self.backlog.contents):05}"
        )

    def _any_code(self) -> str:
        return self.codes.pop(self.random.randrange(len(self.codes)))


def drain_by_call(conn: Connection, batch: int) -> Counter[str]:
    conn.execute("call reaper.drain(%s)", [batch])
    return Counter()


def drain_by_hand(conn: Connection, batch: int) -> Counter[str]:
    """What a worker does; a lock that was not to be had in time is tried for again."""
    done: Counter[str] = Counter()
    claim = "select batch_id from reaper.claim_expired(%s, %s)"
    arguments = [batch, f"worker:{conn.info.backend_pid}"]
    while row := conn.execute(claim, arguments).fetchone():
        while True:
            try:
                conn.execute("select reaper.drop_references(%s)", row)
                break
            except errors.LockNotAvailable:
                done["lock timeouts"] += 1
        conn.execute("select reaper.finish_batch(%s, '[]')", row)
        done["batches"] += 1
    return done


def drain_by_reap(conn: Connection, batch: int) -> Counter[str]:
    """What a worker that releases directly does; rows that others hold are tried for again."""
    done: Counter[str] = Counter()
    arguments = [batch, f"reaper:{conn.info.backend_pid}"]
    while True:
        try:
            row = conn.execute("select batch_id from reaper.reap_expired(%s, %s)", arguments).fetchone()
        except errors.LockNotAvailable:
            done["held rows"] += 1
            continue
        if row is None:
            return done
        conn.execute("select reaper.finish_batch(%s, '[]')", row)
        done["reaps"] += 1


def settle(db: Connection) -> None:
    db.execute("select reaper.reset_stuck('0')")
    db.execute("call reaper.drain()")
    while row := db.execute("select batch_id from reaper.adopt_batch('settler')").fetchone():
        db.execute("select reaper.finish_batch(%s, '[]')", row)


@pytest.mark.slow
def test_each_row_is_released_once_and_nobody_meets_a_deadlock(
    db: Connection,
    connect: Connect,
    sized: Callable[[int, int], int],
    record_property: Callable[[str, object], None],
) -> None:
    backlog = Backlog(sized(100_000, 20_000))
    backlog.fill(db)
    assert (number(db, DUE), number(db, "select count(*) from pastes")) == (backlog.half, backlog.pastes)
    clients = [connect() for _ in range(WRITERS + 8)]
    stop = Event()
    with ThreadPoolExecutor(len(clients)) as threads:
        writers = [Writer(client, n, backlog) for n, client in enumerate(clients[:WRITERS])]
        writing = [threads.submit(writer.work_until, stop) for writer in writers]
        drains = [drain_by_call, drain_by_hand, drain_by_reap, drain_by_hand] * 2
        draining = [
            threads.submit(drain, clients[WRITERS + n], backlog.batch) for n, drain in enumerate(drains)
        ]
        try:
            drained = sum((future.result() for future in draining), Counter[str]())
        finally:
            stop.set()
        written = sum((future.result() for future in writing), Counter[str]())
    for key, value in sorted((drained + written).items()):
        record_property(key, value)
        print(f"{key}: {value}")

    for client in clients:
        client.close()
    settle(db)
    inserted = written["insert_first"] + written["count_first"]
    deleted = written["delete_first"] + written["uncount_first"]
    left = number(db, "select count(*) from pastes")
    assert (
        number(db, "select sum(rows_deleted) from reaper.runs") == backlog.pastes + inserted - deleted - left
    )
    assert db.execute("select * from reaper.check_invariants()").fetchall() == []
    assert db.execute("select * from reaper.drift").fetchall() == []
    assert db.execute("select * from reaper.blocked").fetchall() == []
    assert number(db, DUE) == 0
    assert min(inserted, deleted) > 20
    assert deadlocks(db) == 0


def test_reaps_and_claims_side_by_side_end_with_nothing_due_and_nothing_marked(
    db: Connection, connect: Connect, sized: Callable[[int, int], int]
) -> None:
    """Without a watchdog: each loop ends when it is told that nothing is left."""
    backlog = Backlog(sized(100_000, 10_000))
    backlog.fill(db)
    clients = [connect() for _ in range(8)]
    with ThreadPoolExecutor(len(clients)) as threads:
        drains = [drain_by_reap, drain_by_hand, drain_by_reap, drain_by_reap] * 2
        draining = [
            threads.submit(drain, client, backlog.batch)
            for drain, client in zip(drains, clients, strict=True)
        ]
        done = sum((future.result() for future in draining), Counter[str]())
    for client in clients:
        client.close()
    assert min(done["reaps"], done["batches"]) > 0
    assert number(db, "select count(*) from pastes where deletion_status = 'DELETION_IN_PROGRESS'") == 0
    assert (number(db, DUE), number(db, "select count(*) from reaper.batches")) == (0, 0)
    assert number(db, "select sum(rows_deleted) from reaper.runs") == backlog.half
    assert db.execute("select * from reaper.check_invariants()").fetchall() == []
    assert db.execute("select * from reaper.drift").fetchall() == []
    assert deadlocks(db) == 0
