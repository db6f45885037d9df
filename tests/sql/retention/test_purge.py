"""purge_aged deletes one batch: of every shape of table, and only of a policy that is enabled."""

import pytest

from tests.support.paste_fixtures import column, record, refused, value

SHAPES = {
    "no key": "(id int, at timestamptz, x text)",
    "a key": "(id int primary key, at timestamptz, x text)",
    "a composite key": "(id int, at timestamptz, x text, primary key (x, id))",
    "a key of a type from elsewhere": "(id int, at timestamptz, x colour, primary key (id, x))",
    "more in the index of its key": "(id int, at timestamptz, x text, primary key (id) include (x))",
    "a deferrable key": "(id int primary key deferrable initially deferred, at timestamptz, x text)",
    "the time in its key": "(id int, at timestamptz, x text, primary key (at, id))",
    "partitions and no key": "(id int, at timestamptz, x text) partition by hash (id)",
    "partitions and a key": "(id int primary key, at timestamptz, x text) partition by hash (id)",
}
TWO_PARTITIONS = """
create table t_0 partition of t for values with (modulus 2, remainder 0);
create table t_1 partition of t for values with (modulus 2, remainder 1);
"""
ODD_ONES_ARE_FRESH = """
insert into t (id, at, x)
select i, reaper.clock() - i * interval '1 second' - (array['1 year', '1 day'])[i % 2 + 1]::interval, 'red'
  from generate_series(1, 20) as i
"""


@pytest.fixture
def table(make):
    """A table t of one of the shapes."""

    def shaped(shape):
        partitions = TWO_PARTITIONS if "partitions" in shape else ""
        make(f"create type colour as enum ('red'); create table t {SHAPES[shape]}; {partitions}", "t")
        make("create index on t (at)")

    return shaped


@pytest.mark.parametrize("shape", SHAPES)
def test_exactly_the_old_rows_go_from_a_table_with(db, table, retention, shape):
    table(shape)
    db.execute(ODD_ONES_ARE_FRESH)
    policy = retention.enabled("p", "t", "at")
    assert retention.purge_all(policy, 4) == [4, 4, 2]
    assert column(db, "select id from t order by id") == list(range(1, 21, 2))


def test_rows_of_one_place_in_several_partitions_are_told_apart(db, table, retention):
    table("partitions and no key")
    db.execute(ODD_ONES_ARE_FRESH)
    # Now both partitions have an old row where the other has a fresh one.
    clash = "select count(*) from t_0 a join t_1 b on a.ctid = b.ctid and mod(a.id, 2) <> mod(b.id, 2)"
    assert value(db, clash) > 0
    assert retention.purge(retention.enabled("p", "t", "at")) == 10
    assert column(db, "select id from t order by id") == list(range(1, 21, 2))


def test_what_is_only_included_in_the_index_of_the_key_may_be_null(db, table, retention):
    table("more in the index of its key")
    db.execute("insert into t values (1, '2020-01-01', null)")
    assert retention.purge(retention.enabled("p", "t", "at")) == 1


def test_a_key_that_may_be_there_twice_for_a_moment_names_no_row(db, table, retention):
    table("a deferrable key")
    policy = retention.enabled("p", "t", "at")
    db.execute("insert into t values (1, '2020-01-01', 'old')")
    with db.transaction():
        db.execute("insert into t values (1, now(), 'fresh')")
        assert retention.purge(policy) == 1
    assert column(db, "select x from t") == ["fresh"]


def test_a_policy_that_is_not_enabled_deletes_nothing_and_returns_0(db, retention, history):
    history("1 year", count=3)
    policy = retention.add("p", "pgbench_history", "mtime")
    assert retention.purge(policy) == 0
    db.execute("select reaper.enable_policy('p')")
    assert retention.purge(policy, 1) == 1
    db.execute("select reaper.disable_policy('p')")
    assert retention.purge(policy) == 0
    assert value(db, "select count(*) from pgbench_history") == 2


def test_a_removed_policy_is_gone_and_the_rows_stay(db, retention, history):
    history("1 year")
    retention.enabled("p", "pgbench_history", "mtime")
    db.execute("select reaper.remove_policy('p')")
    with refused("RP005", "there is no retention policy p"):
        retention.purge("p")
    assert value(db, "select count(*) from pgbench_history") == 1


@pytest.mark.parametrize(
    "function", ["enable_policy", "disable_policy", "remove_policy", "plan_policy", "purge_aged"]
)
@pytest.mark.parametrize("name", ["nobody", None, ""])
def test_a_policy_that_is_not_there_is_refused(db, function, name):
    with refused("RP005", "there is no retention policy") as caught:
        db.execute(f"select reaper.{function}(%s)", [name])
    assert "reaper policy list" in caught.value.diag.message_hint


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_limit_out_of_range_is_refused(retention, limit):
    policy = retention.enabled("p", "pgbench_history", "mtime")
    with refused("RP005", "invalid limit"):
        retention.purge(policy, limit)


def test_the_last_purge_is_written_down(db, retention, history):
    history("1 year", count=3)
    policy = retention.enabled("p", "pgbench_history", "mtime")
    retention.purge(policy)
    first = record(db, "select * from reaper.policies")
    assert (first.last_deleted, first.last_purge_at is not None) == (3, True)
    retention.purge(policy)
    second = record(db, "select * from reaper.policies")
    assert (second.last_deleted, second.rows_per_second) == (0, first.rows_per_second)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_an_old_snapshot_cannot_see_that_the_table_changed_and_is_refused(db, retention, history, level):
    history("1 year")
    policy = retention.enabled("p", "pgbench_history", "mtime")
    with refused("RP006"), db.transaction():
        db.execute(f"set transaction isolation level {level}")
        retention.purge(policy)
