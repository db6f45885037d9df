"""Who may register, enable and purge: nobody deletes through reaper what they could not delete themselves."""

import pytest

from tests.support.paste_fixtures import record, refused, value
from tests.support.retention import Retention

ADD = "select reaper.add_retention_policy('p', 'pgbench_history', 'mtime', '3 months')"


@pytest.fixture
def operator(login, history):
    """An operator, whom nobody has yet allowed to delete from the table."""
    history("1 year", count=3)
    return Retention(login("reaper_ops"))


def allow(db):
    db.execute("grant delete on pgbench_history to somebody")


def test_an_operator_registers_what_they_may_delete_themselves(db, operator):
    with refused("RP005", "somebody may not delete from public.pgbench_history") as caught:
        operator.add("p", "pgbench_history", "mtime")
    db.execute(caught.value.diag.message_hint)
    operator.enabled("p", "pgbench_history", "mtime")
    assert record(db, "select created_by, enabled from reaper.policies") == ("somebody", True)
    assert operator.purge("p", 1) == 1


def test_what_people_do_with_a_policy_is_audited_in_their_name(db, operator):
    allow(db)
    operator.enabled("p", "pgbench_history", "mtime")
    for function in ("disable_policy", "remove_policy"):
        operator.connection.execute(f"select reaper.{function}('p')")
    assert db.execute("select who, action, subject from reaper.audit order by audit_id").fetchall() == [
        ("somebody", "add_retention_policy", "policy:p"),
        ("somebody", "enable_policy", "policy:p"),
        ("somebody", "disable_policy", "policy:p"),
        ("somebody", "remove_policy", "policy:p"),
    ]
    detail = value(db, "select detail from reaper.audit where action = 'add_retention_policy'")
    assert detail == "public.pgbench_history, mtime older than 3 mons, 500 at a time, @hourly"


def test_whoever_enables_may_delete_as_well(db, retention, operator):
    retention.add("p", "pgbench_history", "mtime")
    with refused("RP005", "somebody may not delete"):
        operator.connection.execute("select reaper.enable_policy('p')")
    allow(db)
    operator.connection.execute("select reaper.enable_policy('p')")


def test_a_policy_ends_with_the_right_of_whoever_registered_it(db, retention, operator):
    allow(db)
    operator.enabled("p", "pgbench_history", "mtime")
    db.execute("revoke delete on pgbench_history from somebody")
    with refused("RP005", "somebody may not delete"):
        retention.purge("p")


def test_a_policy_ends_with_the_role_that_registered_it(db, retention, operator):
    allow(db)
    operator.enabled("p", "pgbench_history", "mtime")
    db.execute("alter role somebody rename to nobody_any_more")
    try:
        with refused("RP005", "does not exist any more"):
            retention.purge("p")
    finally:
        db.execute("alter role nobody_any_more rename to somebody")


def test_reaper_needs_its_own_rights_and_the_hint_is_the_grant(db, make, retention):
    make("create schema app; create table app.t (at timestamptz); create index on app.t (at)")
    db.execute("insert into app.t values ('2020-01-01')")
    with refused("RP005", "reaper_owner, which does the work") as caught:
        retention.add("p", "app.t", "at")
    hint = caught.value.diag.message_hint
    assert hint.count("grant") == 2
    db.execute(hint)
    assert retention.purge(retention.enabled("p", "app.t", "at")) == 1


def test_a_worker_purges_and_reads_and_does_no_more(db, retention, history, login):
    history("1 year", count=3)
    retention.enabled("p", "pgbench_history", "mtime")
    worker = Retention(login("reaper_worker"))
    db.execute("grant delete on pgbench_history to somebody")
    assert value(worker.connection, "select schedule from reaper.retention_schedule()") == "@hourly"
    assert worker.purge("p", 2) == 2
    for statement in (
        ADD,
        "select reaper.enable_policy('p')",
        "select reaper.disable_policy('p')",
        "select reaper.remove_policy('p')",
        "select reaper.plan_policy('p')",
        "select * from reaper.retention_policies",
        "update reaper.retention_policies set max_age = '1 minute'",
        "select reaper_internal.lock_policy_table('p')",
    ):
        with refused("42501"):
            worker.connection.execute(statement)


@pytest.mark.parametrize("role", ["reaper_ro", "reaper_app"])
@pytest.mark.usefixtures("history")
def test_readers_and_applications_neither_register_nor_purge(db, retention, login, role):
    retention.enabled("p", "pgbench_history", "mtime")
    connection = login(role)
    allow(db)
    for statement in (ADD, "select reaper.purge_aged('p')", "select reaper.enable_policy('p')"):
        with refused("42501"):
            connection.execute(statement)


def test_readers_see_policies_and_plans(retention, history, login):
    history("1 year")
    retention.add("p", "pgbench_history", "mtime")
    connection = login("reaper_ro")
    assert record(connection, "select name, problems from reaper.policies") == ("p", [])
    assert Retention(connection).plan("p").rows_aged == 1


@pytest.mark.parametrize(
    "mischief",
    [
        "set search_path = pg_temp",
        "create temp table retention_policies as select true as enabled",
        "create function pg_temp.clock_timestamp() returns timestamptz return 'infinity'::timestamptz",
        "set timezone = 'Etc/GMT-14'",
        "set datestyle = 'SQL, DMY'; set intervalstyle = 'sql_standard'",
        "create temp table pgbench_history (mtime timestamptz)",
    ],
)
def test_nothing_a_worker_sets_makes_a_fresh_row_old(db, retention, history, login, mischief):
    history("3 months -13 hours")
    history("1 year")
    retention.enabled("p", "pgbench_history", "mtime")
    worker = Retention(login("reaper_worker"))
    worker.connection.execute(mischief)
    assert worker.purge("p") == 1
    assert value(db, "select count(*) from public.pgbench_history") == 1
