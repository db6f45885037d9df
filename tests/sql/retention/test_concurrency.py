"""Purges beside each other and beside the application: no row twice, no waiting for rows, no deadlock."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import errors

from tests.support.paste_fixtures import column, refused, value
from tests.support.retention import Retention

OLD = """
insert into t (id, at)
select i, now() - interval '1 year' - i * interval '1 second' from generate_series(1, {}) as i
"""
SHAPES = {
    "no key": "create table t (id int, at timestamptz)",
    "a key": "create table t (id int primary key, at timestamptz)",
    "partitions": "create table t (id int, at timestamptz, primary key (id, at)) partition by hash (id, at);"
    "create table t_0 partition of t for values with (modulus 2, remainder 0);"
    "create table t_1 partition of t for values with (modulus 2, remainder 1)",
}
# Each edge hangs on two nodes, so two batches of nodes have edges in common.
GRAPH = """
create table t (id int primary key, at timestamptz);
create table edges (a int references t on delete cascade, b int references t on delete cascade);
create index on edges (a);
create index on edges (b);
"""
EDGES = (
    "insert into edges select 1 + mod(i * 7, 600), 1 + mod(i * 11, 600) from generate_series(1, 3000) as i"
)


@pytest.fixture
def purger(connect):
    """A purger with a connection and transactions of its own."""
    return lambda **options: Retention(connect(**options))


@pytest.fixture(params=SHAPES)
def table(request, make):
    make(f"{SHAPES[request.param]}; create index on t (at)", "t")
    make(OLD.format(20))


@pytest.mark.usefixtures("table")
def test_two_purges_at_the_same_time_delete_different_rows(db, retention, purger):
    retention.enabled("p", "t", "at")
    first, second = purger(autocommit=False), purger(autocommit=False)
    assert first.purge("p", 5) == 5
    assert second.purge("p", 5) == 5
    first.connection.commit()
    second.connection.commit()
    assert column(db, "select id from t order by id") == list(range(1, 11))


@pytest.mark.usefixtures("table")
def test_rows_that_the_application_holds_are_skipped_and_come_later(db, retention, connect):
    retention.enabled("p", "t", "at")
    application = connect(autocommit=False)
    application.execute("select from t where id > 17 for share")
    assert retention.purge("p") == 17
    application.rollback()
    assert retention.purge("p") == 3
    assert value(db, "select count(*) from t") == 0


@pytest.mark.usefixtures("table")
def test_a_row_that_was_made_fresh_in_time_is_kept(db, retention, connect):
    retention.enabled("p", "t", "at")
    application = connect(autocommit=False)
    application.execute("update t set at = now() where id = 20")
    assert retention.purge("p") == 19
    application.commit()
    assert retention.purge("p") == 0
    assert column(db, "select id from t") == [20]


@pytest.mark.usefixtures("table")
def test_while_a_purge_is_under_way_nobody_can_attach_a_trigger(db, retention, purger):
    retention.enabled("p", "t", "at")
    purge = purger(autocommit=False)
    purge.purge("p", 5)
    db.execute("create function f() returns trigger language plpgsql as 'begin return old; end'")
    db.execute("set lock_timeout = '50ms'")
    with pytest.raises(errors.LockNotAvailable):
        db.execute("create trigger g before delete on t for each row execute function f()")


def test_a_trigger_that_is_just_being_attached_is_seen(db, make, retention, purger, connect, waits):
    make(f"{SHAPES['a key']}; create index on t (at); {OLD.format(20)}", "t")
    retention.enabled("p", "t", "at")
    db.execute("create function f() returns trigger language plpgsql as 'begin return old; end'")
    application, purge = connect(autocommit=False), purger()
    application.execute("create trigger g before delete on t for each row execute function f()")
    with ThreadPoolExecutor(1) as pool:
        purged = pool.submit(purge.purge, "p")
        waits(purge.connection)
        application.commit()
        with refused("RP005", "acts on every deleted row"):
            purged.result()


def test_purges_that_cascade_go_one_after_the_other(db, make, retention, purger, waits):
    make(f"{GRAPH}; create index on t (at); {OLD.format(20)}", "t")
    retention.enabled("p", "t", "at", allow_cascade=True)
    first, second = purger(autocommit=False), purger()
    first.purge("p", 5)
    with ThreadPoolExecutor(1) as pool:
        purged = pool.submit(second.purge, "p", 5)
        waits(second.connection)
        first.connection.commit()
        assert purged.result() == 5
    assert value(db, "select count(*) from t") == 10


def together(purgers, policy, limit):
    """What all of them deleted, each purging until it finds nothing more."""
    start = threading.Barrier(len(purgers))

    def run(purger):
        start.wait()
        deleted = 0
        while batch := purger.purge(policy, limit):
            deleted += batch
        return deleted

    with ThreadPoolExecutor(len(purgers)) as pool:
        return sum(pool.map(run, purgers))


@pytest.mark.slow(but=1)
@pytest.mark.usefixtures("table")
def test_four_purges_side_by_side_delete_each_row_once_and_meet_no_deadlock(db, retention, purger):
    db.execute("truncate t")
    db.execute(OLD.format(2000))
    retention.enabled("p", "t", "at")
    assert together([purger() for _ in range(4)], "p", 7) == 2000
    assert value(db, "select count(*) from t") == 0


def test_purges_whose_cascades_meet_in_the_same_rows_meet_no_deadlock(db, make, retention, purger):
    make(f"{GRAPH}; create index on t (at); {OLD.format(600)}; {EDGES}", "t")
    retention.enabled("p", "t", "at", allow_cascade=True)
    assert together([purger() for _ in range(3)], "p", 20) == 600
    assert value(db, "select count(*) from edges") == 0
