"""The dry run tells what would happen, and a batch reads little whatever the table's size and statistics."""

import re

import pytest

from tests.support.paste_fixtures import value

SHAPES = {
    "no key": ("(id int, at timestamptz)", ""),
    "a key": ("(id int primary key, at timestamptz)", ""),
    "a composite key": ("(id int, at timestamptz, primary key (id, at))", ""),
    "a key of a type of an extension": ("(id citext primary key, at timestamptz)", ""),
    "no zone": ("(id int, at timestamp)", ""),
    "days": ("(id int, at date)", ""),
    "partitions": ("(id int, at timestamptz, primary key (id, at)) partition by range (at)", "range"),
    "partitions without key": ("(id int, at timestamptz) partition by range (at)", "range"),
    "partitions by another column": ("(id int, at timestamptz) partition by hash (id)", "hash"),
}
PARTITIONS = {
    "": "select 1",
    "range": "create table t_0 partition of t for values from (minvalue) to ('2020-01-01');"
    "create table t_1 partition of t for values from ('2020-01-01') to (maxvalue)",
    "hash": "create table t_0 partition of t for values with (modulus 2, remainder 0);"
    "create table t_1 partition of t for values with (modulus 2, remainder 1)",
}
FILL = """
insert into t
select i, timestamptz '2020-01-01' + ({rows} / 2 - i) * interval '1 minute'
  from generate_series(1, {rows}) as i
"""
SCANS = "select sum(seq_scan) from pg_stat_xact_user_tables where relname ~ '^t'"
SAME = "insert into t select i, '2019-01-01' from generate_series(1, {rows}) as i"


@pytest.fixture
def table(make, retention):
    """A table t of some shape without statistics, with a policy."""

    def shaped(shape):
        columns, kind = SHAPES[shape]
        make(f"create extension citext; create table t {columns}; {PARTITIONS[kind]}", "t")
        make("create index t_at on t (at)")
        return retention.enabled("p", "t", "at")

    return shaped


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("statistics", ["none", "fresh", "of the empty table", "of other times"])
def test_no_plan_reads_a_whole_table(db, retention, table, shape, statistics):
    policy = table(shape)
    if statistics == "of the empty table":
        db.execute("analyze t")
    elif statistics == "of other times":
        db.execute(
            "insert into t select i, now() from generate_series(1, 1000) as i; analyze t; delete from t"
        )
    db.execute(FILL.format(rows=20_000))
    if statistics == "fresh":
        db.execute("analyze t")
    plan = retention.plan(policy).plan
    assert "Seq Scan" not in plan
    assert re.search(r"Index Scan using t(_0)?_at(_idx)? on t", plan), plan
    assert "Sort  " not in plan
    assert purge_scans(db, retention, policy) == 0


def purge_scans(db, retention, policy):
    """How many times a purge, not its plan, read one of the tables from end to end."""
    with db.transaction():
        before = value(db, SCANS)
        assert retention.purge(policy, 100) == 100
        return value(db, SCANS) - before


def pages(db, policy):
    query = "explain (analyze, buffers, format json) select reaper.purge_aged(%s, 100)"
    plan = value(db, query, policy)[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [FILL, SAME], ids=["spread", "of one instant"])
def test_a_batch_reads_as_little_in_a_large_table_as_in_a_small_one(db, table, shape, rows):
    policy = table(shape)
    db.execute(rows.format(rows=2_000))
    small = min(pages(db, policy) for _ in range(4))
    db.execute("truncate t")
    db.execute(rows.format(rows=60_000))
    large = min(pages(db, policy) for _ in range(4))
    assert large <= 1.5 * small + 200, (small, large)


def test_a_row_is_not_looked_up_among_all_of_its_time(db, table):
    policy = table("partitions without key")
    db.execute("insert into t select i, '2019-01-01'::date + i from generate_series(1, 300) as i; analyze t")
    db.execute(SAME.format(rows=20_000))
    assert pages(db, policy) < 5_000


def test_the_dry_run_tells_rows_share_batches_time_and_plan_and_deletes_nothing(db, retention, history):
    history("1 year", count=25)
    history("1 day", count=75)
    policy = retention.add("p", "pgbench_history", "mtime", batch_limit=10)
    plan = retention.plan(policy)
    assert (plan.rows_aged, plan.rows_total, float(plan.share), plan.batches) == (25, 100, 0.25, 3)
    assert (plan.speed_is_measured, plan.rows_per_second, plan.seconds) == (False, 5000, 0)
    assert plan.statement.startswith("with aged as materialized (select t.ctid")
    assert "pgbench_history_mtime" in plan.plan
    assert value(db, "select count(*) from pgbench_history") == 100


def test_after_a_purge_the_time_is_that_of_the_last_one(db, retention, history):
    history("1 year", count=20)
    policy = retention.enabled("p", "pgbench_history", "mtime")
    retention.purge(policy, 10)
    db.execute("update reaper.retention_policies set rows_per_second = 4")
    plan = retention.plan(policy)
    assert (plan.speed_is_measured, float(plan.seconds)) == (True, 2.5)


def test_the_dry_run_of_an_empty_table(retention, history):
    history("1 year", count=0)
    plan = retention.plan(retention.add("p", "pgbench_history", "mtime"))
    assert (plan.rows_aged, plan.rows_total, plan.share, plan.batches, plan.seconds) == (0, 0, 0, 0, 0)


def test_a_large_table_is_estimated_instead_of_counted(db, retention, history):
    history("1 year", count=10)
    db.execute("analyze pgbench_history")
    db.execute("update pg_class set reltuples = 5e8, relpages = 1 where oid = 'pgbench_history'::regclass")
    plan = retention.plan(retention.add("p", "pgbench_history", "mtime"))
    assert plan.rows_aged == 10
    assert plan.rows_total >= 1_000_000


def test_the_dry_run_works_in_a_transaction_that_may_not_write(db, retention, history):
    history("1 year")
    policy = retention.add("p", "pgbench_history", "mtime")
    with db.transaction():
        db.execute("set transaction read only")
        assert retention.plan(policy).rows_aged == 1
