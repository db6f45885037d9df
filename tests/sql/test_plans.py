"""What a claim reads depends neither on the size of the table nor on statistics nor on old snapshots."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.support.paste_fixtures import Connection, Worker, codes, record
from tests.support.query_plans import flat, pages, read_whole, reads, watched

SMALL = 10_000
START = ("-infinity", "")

# Autovacuum would bring statistics just when a test wants to be without. Half of the rows are due, each
# hundred of them shares a content, every other content has a row that says where it lies. Foreign keys are
# not asked: the rows are right by construction.
FILL = """
alter table pastes set (autovacuum_enabled = false);
alter table content set (autovacuum_enabled = false);
alter table reaper.object_locations set (autovacuum_enabled = false);
set session_replication_role = replica;
insert into content (content_hash, object_key, ref_count, size_bytes)
select 'h' || i, 'k' || i, 100, 10 from generate_series(1, {rows} / 100) as i;
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
select 'h' || i, 'default', 'k' || i, 10, now() from generate_series(1, {rows} / 100, 2) as i;
insert into reaper.byte_deltas (backend, used_bytes)
select 'default', sum(size_bytes) from reaper.object_locations;
insert into pastes (short_code, content_hash, expires_at)
select 'c' || lpad(i::text, 8, '0'), 'h' || (i - 1) / 100 + 1, {expires} from generate_series(1, {rows}) as i;
"""
SPREAD = "now() - interval '1 day' + (i - {rows} / 2) * interval '0.01 seconds'"
OTHERS = """
with stored as (
    insert into content (content_hash, object_key) select 'o' || i, 'ok' || i from generate_series(1, %s) as i
    returning content_hash, object_key
)
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
select content_hash, 'default', object_key, 0, now() from stored
"""
ONE_INSTANT = "timestamptz '2020-02-02 00:00:00+00'"


@pytest.fixture(scope="module")
def databases(server: Any, migrated_template: Any) -> Iterator[Callable[..., str]]:
    """Makes databases of a given size, from which each test clones its own."""
    made: dict[str, None] = {}
    with psycopg.connect(server.dsn(), autocommit=True) as admin:

        def database(name: str, template: str) -> str:
            query = "create database {} template {} strategy file_copy"
            admin.execute(sql.SQL(query).format(sql.Identifier(name), sql.Identifier(template)))
            made[name] = None
            return name

        def filled(rows: int, expires: str) -> str:
            name = f"plans_{rows}_{expires == ONE_INSTANT}"
            if name not in made:
                database(name, migrated_template.template_dbname)
                with psycopg.connect(server.dsn(name)) as connection:
                    connection.execute(FILL.format(rows=rows, expires=expires.format(rows=rows)))
            return name

        def clone(rows: int, expires: str = SPREAD) -> str:
            return server.dsn(database(f"clone_{len(made)}", filled(rows, expires)))

        yield clone
        for name in made:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def table_of(databases: Callable[..., str]) -> Iterator[Callable[..., "Drainer"]]:
    """A drainer at a fresh copy of a table of that many rows."""
    opened: list[Connection] = []

    def open_one(rows: int, expires: str = SPREAD) -> "Drainer":
        opened.append(psycopg.connect(databases(rows, expires), autocommit=True))
        return Drainer(opened[-1])

    yield open_one
    for connection in opened:
        connection.close()


class Drainer(Worker):
    """Drains, and tells how many pages each step looked at."""

    cursor: tuple[Any, str] = START

    def measured_claim(self, limit: int = 100) -> int:
        return pages(
            self.connection, "select * from reaper.claim_expired(%s, 'w', %s, %s)", limit, *self.cursor
        )

    def measured_drop(self) -> int:
        """The claim is dropped and finished; only the drop is measured."""
        batch = self.connection.execute("select batch_id from reaper.batches").fetchone()[0]  # type: ignore[index]
        read = pages(self.connection, "select * from reaper.drop_references(%s)", batch)
        self.finish(batch)
        return read

    def step(self, limit: int = 100) -> tuple[int, int]:
        """One claim and its drop, from where the last one ended; the pages of each."""
        claimed = self.measured_claim(limit)
        self.cursor = self.connection.execute(
            "select p.expires_at, p.short_code from pastes p"
            "  join reaper.batches b on p.short_code = b.short_codes[cardinality(b.short_codes)]"
        ).fetchone()  # type: ignore[assignment]
        return claimed, self.measured_drop()

    def measured_reap(self, limit: int = 100) -> int:
        """One direct release, from where the last one ended; it is finished."""
        due = self.connection.execute(
            "select expires_at, short_code from pastes where (expires_at, short_code) > (%s, %s)"
            " order by expires_at, short_code offset %s limit 1",
            [*self.cursor, limit - 1],
        ).fetchone()
        query = "select * from reaper.reap_expired(%s, 'w', %s, %s)"
        read = pages(self.connection, query, limit, self.cursor[0], self.cursor[1] or None)
        self.cursor = due  # type: ignore[assignment]
        self.finish(self.connection.execute("select batch_id from reaper.batches").fetchone()[0])  # type: ignore[index]
        return read


def steady(drainer: Drainer) -> tuple[int, int]:
    """The dearest claim and the dearest drop once caches and plans are warm."""
    steps = [drainer.step() for _ in range(8)][2:]
    return max(claim for claim, _ in steps), max(drop for _, drop in steps)


@pytest.fixture
def large(sized: Callable[[int, int], int]) -> int:
    return sized(1_000_000, 200_000)


@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_a_claim_and_a_drop_read_as_little_in_a_million_rows_as_in_ten_thousand(table_of, analyzed, large):
    measured = []
    for size in (SMALL, large):
        drainer = table_of(size)
        if analyzed:
            drainer.connection.execute("analyze")
        measured.append(steady(drainer))
    (small_claim, small_drop), (large_claim, large_drop) = measured
    assert flat(small_claim, large_claim), measured
    assert flat(small_drop, large_drop), measured


@pytest.mark.parametrize("statistics", ["none", "right", "of an empty table"])
def test_a_direct_release_reads_as_little_in_a_large_table_as_in_ten_thousand_rows(
    table_of, statistics, large
):
    measured = []
    for size in (SMALL, large):
        drainer = table_of(size)
        if statistics == "right":
            drainer.connection.execute("analyze")
        elif statistics == "of an empty table":
            forget_the_rows(drainer.connection)
        measured.append(max([drainer.measured_reap() for _ in range(8)][2:]))
    assert flat(*measured), measured


def forget_the_rows(connection: Connection) -> None:
    """What ANALYZE saw when the table was empty."""
    connection.execute("create temp table kept as table pastes; truncate pastes; analyze pastes")
    connection.execute("set session_replication_role = replica; insert into pastes table kept")
    connection.execute("set session_replication_role = origin")


def test_the_measure_notices_a_scan_of_the_table(table_of, large):
    measured = []
    for size in (SMALL, large):
        drainer = table_of(size)
        drainer.connection.execute("drop index reaper_pastes_due")
        measured.append(steady(drainer)[0])
    assert not flat(*measured), measured


def test_statistics_from_before_the_table_grew_do_no_harm(table_of):
    small = steady(table_of(SMALL))
    drainer = table_of(100_000)
    forget_the_rows(drainer.connection)
    large = steady(drainer)
    assert flat(small[0], large[0]), (small, large)
    assert flat(small[1], large[1]), (small, large)


def test_a_drop_of_contents_with_copies_reads_no_more_where_many_others_have_copies(db, paste, copy):
    drainer = Drainer(db)
    measured = []
    # What ANALYZE saw when there was none.
    db.execute(
        "alter table reaper.object_locations set (autovacuum_enabled = false);"
        " analyze reaper.object_locations"
    )
    for others in (0, 100_000):
        db.execute(OTHERS, [others])
        steps = []
        for step in range(3):
            paste.many(f"p{others}-{step}-", 5)
            for code in codes(db):
                copy(code, "default", "east")
            drainer.measured_claim()
            steps.append(drainer.measured_drop())
        measured.append(min(steps))
    assert flat(*measured), measured


def claim_only(drainer: Drainer, *, cursor: bool) -> int:
    read = drainer.measured_claim(1000)
    if cursor:
        drainer.cursor = drainer.connection.execute(
            "select expires_at, short_code from pastes where deletion_status = 'DELETION_IN_PROGRESS'"
            " order by 1 desc, 2 desc limit 1"
        ).fetchone()  # type: ignore[assignment]
    return read


def test_the_fiftieth_claim_of_a_hundred_thousand_rows_of_one_instant_reads_no_more_than_the_first(table_of):
    drainer = table_of(100_000, ONE_INSTANT)
    claims = [claim_only(drainer, cursor=True) for _ in range(50)]
    assert flat(claims[0], claims[-1]), claims


def test_the_measure_notices_a_walk_over_rows_that_are_claimed_already(table_of):
    drainer = table_of(100_000, ONE_INSTANT)
    claims = [claim_only(drainer, cursor=False) for _ in range(50)]
    assert not flat(claims[0], claims[-1]), claims


@pytest.mark.parametrize("expires", [SPREAD, ONE_INSTANT], ids=["spread", "one instant"])
def test_a_snapshot_pinned_by_another_session_makes_no_claim_and_no_drop_dearer(table_of, expires):
    drainer = table_of(100_000, expires)
    with psycopg.connect(drainer.connection.info.dsn) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("select count(*) from pastes")
        steps = [drainer.step(1000) for _ in range(40)]
        (first_claim, first_drop), (last_claim, last_drop) = steps[2], steps[-1]
        assert flat(first_claim, last_claim), steps
        assert flat(first_drop, last_drop), steps


def work(drainer: Drainer) -> None:
    """Every hot function, often enough to see custom plans and generic ones."""
    for n in range(16):
        batch = drainer.claim(5)
        drainer.drop(batch)
        # All succeeded, or nothing was tried.
        drainer.finish(batch, () if n % 2 else None)
        drainer.finish(drainer.reap(3), () if n % 2 else None)
        drainer.claim(5)
        drainer.call("reset_stuck", "0")


# An application's own index serves as well, and one of this kind cannot be asked for many hashes at once.
HASHED = "drop index reaper_pastes_content; create index on pastes using hash (content_hash)"


@pytest.mark.parametrize("index", ["", HASHED], ids=["our index", "hashed contents"])
@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
@pytest.mark.parametrize("size", [200, 100_000])
def test_no_plan_inside_a_hot_function_scans_what_may_be_large(table_of, size, analyzed, index):
    drainer = table_of(size)
    drainer.connection.execute(index)
    if analyzed:
        drainer.connection.execute("analyze")
    # Rows that cannot go, so that the way around them is seen too: one that is claimed, one that is reaped.
    drainer.connection.execute("create table comments (code text primary key references pastes)")
    drainer.connection.execute("insert into comments values ('c00000011'), ('c00000015')")
    drainer.connection.execute("insert into reaper.retired_keys values ('a name', now())")
    plans = watched(drainer.connection)
    work(drainer)
    queries = " ".join(plan["Query Text"] for plan in plans)
    for step in (
        *("insert into reaper.blocked", "delete from reaper.content", "update reaper.stray_scan"),
        *(
            "delete from reaper.object_locations",
            "insert into reaper.cleanup_queue",
            "delete from reaper.retired_keys",
        ),
    ):
        assert step in queries
    assert ("Index Scan", "pastes") in reads(plans)
    large = ("pastes", "content", "object_locations", "cleanup_queue", "cleanup_dlq", "retired_keys")
    assert read_whole(plans, large) == {}


@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_a_look_for_rows_that_others_hold_scans_nothing_that_may_be_large(table_of, analyzed):
    """Few rows are due, in a table of many."""
    drainer = table_of(SMALL)
    connection = drainer.connection
    connection.execute(
        "update pastes set expires_at = now() + interval '1 day' where short_code > 'c00000003'"
    )
    if analyzed:
        connection.execute("analyze")
    plans = watched(connection)
    with psycopg.connect(connection.info.dsn) as holder:
        holder.execute("select from pastes where short_code <= 'c00000003' for update")
        for _ in range(2):
            with pytest.raises(psycopg.errors.LockNotAvailable), connection.transaction():
                drainer.try_reap()
    assert ("Index Scan", "pastes") in reads(plans)
    assert read_whole(plans, ("pastes", "content")) == {}


def test_a_claim_writes_no_index_entry_where_the_page_has_room(db, paste, me):
    paste.many("p", 1000)
    while me.try_claim(100):
        pass
    db.execute("select pg_stat_force_next_flush()")
    row = record(db, "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'pastes'")
    assert row.n_tup_upd == 1000
    assert row.n_tup_hot_upd > 0, "an index that mentions the mark makes every claim a full update"
