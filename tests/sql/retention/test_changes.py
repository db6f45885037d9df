"""A table that changed since its policy was registered is looked at again before anything is deleted."""

import pytest

from tests.support.paste_fixtures import refused, value

CHILD = "alter table t add unique (id); create table c (t int references t (id) {}); create index on c (t)"
CHANGES = {
    "is dropped": "drop table t",
    "is renamed": "alter table t rename to u",
    "moves to another schema": "create schema s; alter table t set schema s",
    "is made again": "drop table t; {make}; grant select, delete, update on t to reaper_owner",
    "loses its column": "alter table t drop column at",
    "has its column renamed": "alter table t rename at to made_at",
    "has its column changed": "alter table t alter at type timestamp",
    "loses its index": "drop index t_at",
    "has an invalid index": "update pg_index set indisvalid = false where indexrelid = 't_at'::regclass",
    "is referred to": CHILD.format(""),
    "is referred to by a cascade": CHILD.format("on delete cascade"),
    "gets a trigger": "create function f() returns trigger language plpgsql as 'begin return old; end';"
    "create trigger g before delete on t for each row execute function f()",
    "gets a rule": "create rule r as on delete to t do instead nothing",
    "hides rows": "alter table t enable row level security",
    "gets an heir": "create table h () inherits (t)",
    "is taken from reaper": "revoke delete on t from reaper_owner",
    "may not be locked by reaper": "revoke update on t from reaper_owner",
}
MAKE = "create table t (id int, at timestamptz); create index t_at on t (at)"


@pytest.mark.parametrize("change", CHANGES)
def test_a_purge_is_refused_once_the_table(db, make, retention, change):
    make(MAKE, "t")
    db.execute("insert into t values (1, now() - interval '1 year')")
    policy = retention.enabled("p", "t", "at")
    db.execute(CHANGES[change].replace("{make}", MAKE))
    for call in ("purge_aged", "plan_policy", "enable_policy"):
        with refused("RP005", "retention policy p: ") as caught:
            db.execute(f"select reaper.{call}(%s)", [policy])
        assert caught.value.diag.message_hint
    assert value(db, "select cardinality(problems) from reaper.policies") > 0


def test_a_policy_that_is_refused_can_still_be_disabled_and_removed(db, retention, history):
    history("1 year")
    retention.enabled("p", "pgbench_history", "mtime")
    db.execute("drop table pgbench_history")
    db.execute("select reaper.disable_policy('p')")
    assert retention.purge("p") == 0, "what is not enabled is not looked at"
    db.execute("select reaper.remove_policy('p')")


def test_a_new_partition_without_index_stops_the_policy_until_it_has_one(db, make, retention):
    make(
        "create table log (at timestamptz) partition by range (at);"
        "create table log_1 partition of log for values from (minvalue) to ('2020-01-01');"
        "create index on log_1 (at)",
        "log",
    )
    policy = retention.enabled("p", "log", "at")
    db.execute("create table log_2 partition of log for values from ('2020-01-01') to ('2021-01-01')")
    with refused("RP005", "log_2 has no valid index") as caught:
        retention.purge(policy)
    db.execute(caught.value.diag.message_hint.splitlines()[0])
    assert retention.purge(policy) == 0
