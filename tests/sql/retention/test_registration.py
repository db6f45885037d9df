"""What a table must be like to have a policy; every refusal says RP005 and how to mend it."""

import pytest
from psycopg import sql

from tests.support.paste_fixtures import record, refused, value
from tests.support.retention import refusal

EVENTS = """
create table events (id bigint generated always as identity primary key, at timestamptz, body text);
create index events_at on events (at);
"""
NOTHING = "select 1"
SERVER = "create foreign data wrapper w; create server s foreign data wrapper w"


@pytest.fixture
def events(make):
    make(EVENTS, "events")


@pytest.mark.usefixtures("events")
def test_a_policy_remembers_everything_and_is_not_enabled(db, retention):
    retention.add(
        "old-events", "events", "at", "90 days", batch_limit=50, schedule="15 3 * * *", allow_cascade=True
    )
    row = record(db, "select * from reaper.retention_policies")
    assert (row.name, row.table_oid) == ("old-events", value(db, "select 'events'::regclass::oid"))
    assert (row.table_schema, row.table_name, row.column_name) == ("public", "events", "at")
    assert (row.column_type, row.max_age.days) == ("timestamp with time zone", 90)
    assert (row.batch_limit, row.schedule, row.allow_cascade) == (50, "15 3 * * *", True)
    assert (row.enabled, row.created_by, row.last_purge_at) == (False, db.info.user, None)


@pytest.mark.usefixtures("events")
def test_defaults_are_those_of_the_seed(db, retention):
    retention.add("p", "events", "at")
    schedule = record(db, "select * from reaper.retention_schedule()")
    assert schedule == ("p", "@hourly", 500, False)


@pytest.mark.usefixtures("events")
def test_a_name_is_given_once(retention):
    retention.add("p", "events", "at")
    message, hint = refusal(retention, "p", "events", "at")
    assert "a policy of this name exists" in message
    assert "reaper.remove_policy('p')" in hint


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("name", ["a", "Old.Events_2-x", "x" * 63])
def test_names_that_are_fit_for_jobs_and_logs(retention, name):
    retention.add(name, "events", "at")


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("name", [None, "", "x" * 64, "1st", "with space", "a'b", "a\nb", "ä", "$$"])
def test_other_names_are_refused(retention, name):
    message, hint = refusal(retention, name, "events", "at")
    assert "invalid policy name" in message
    assert "Give a letter" in hint


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize(
    "age",
    [None, "0", "-1 day", "1 second", "101 years", "1 month -29 days", "1 day -1 hour", "2 days -1 month"],
)
def test_an_age_that_could_reach_fresh_rows_is_refused(retention, age):
    message, hint = refusal(retention, "p", "events", "at", age)
    assert "invalid max_age" in message
    assert "from 1 minute to 100 years" in hint


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("limit", [None, 0, -1, 10_001])
def test_a_batch_is_neither_empty_nor_endless(retention, limit):
    message, hint = refusal(retention, "p", "events", "at", batch_limit=limit)
    assert "invalid batch_limit" in message
    assert "from 1 to 10000" in hint


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize(
    "schedule",
    [None, "", "often", "@reboot", "* * * *", "* * * * * *", "0 seconds", "1; x", "0 25 * * *", "0 0 30 2 *"],
)
def test_a_schedule_is_cron_a_word_or_an_interval(retention, schedule):
    assert "invalid schedule" in refusal(retention, "p", "events", "at", schedule=schedule)[0]


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize(
    "schedule", ["@daily", "*/5 * * * *", "0 0 1 jan mon-fri", "10 minutes", "1 day", "continuous"]
)
def test_schedules_that_are_taken(retention, schedule):
    retention.add("p", "events", "at", schedule=schedule)


@pytest.mark.usefixtures("events")
def test_all_problems_are_told_at_once(db, retention):
    db.execute("drop index events_at; revoke all on events from reaper_owner")
    message, hint = refusal(retention, "p", "events", "at")
    assert "has no valid index" in message
    assert "may not lock and delete" in message
    assert hint.count("\n") == 1


@pytest.mark.parametrize(
    ("statement", "table", "problem"),
    [
        (NOTHING, "pg_class", "is a system table of PostgreSQL"),
        (NOTHING, "information_schema.sql_features", "is a system table of PostgreSQL"),
        (NOTHING, "reaper.runs", "is a table of reaper or its job queue"),
        (NOTHING, "reaper.policies", "is a view"),
        (NOTHING, "procrastinate.procrastinate_jobs", "is a table of reaper or its job queue"),
        (NOTHING, "pastes", "is emptied by the drain"),
        (NOTHING, "content", "is emptied by the drain"),
        (NOTHING, "events_at", "is an index"),
        ("create view seen as table events", "seen", "is a view"),
        ("create materialized view kept as table events", "kept", "is a materialized view"),
        ("create sequence numbers", "numbers", "is a sequence"),
        ("create type pair as (at timestamptz)", "pair", "is a type"),
        ("create temp table mine (at timestamptz)", "mine", "is a temporary table"),
        ("create table heir () inherits (events)", "events", "has tables that inherit from it"),
        ("alter table events enable row level security", "events", "hides rows from reaper"),
        (f"{SERVER}; create foreign table remote (at timestamptz) server s", "remote", "is a foreign table"),
    ],
)
@pytest.mark.usefixtures("events")
def test_only_ordinary_and_partitioned_tables_of_applications_are_taken(
    db, retention, statement, table, problem
):
    db.execute(statement)
    message, hint = refusal(retention, "p", table, "at")
    assert problem in message
    assert hint


def test_a_toast_table_is_refused(db, retention):
    toast = value(db, "select reltoastrelid::regclass::text from pg_class where oid = 'pg_proc'::regclass")
    assert "is a toast table" in refusal(retention, "p", toast, "at")[0]


def test_a_table_that_is_not_there_is_refused(retention):
    assert "there is no table" in refusal(retention, "p", "4242424", "at")[0]
    assert "there is no table" in refusal(retention, "p", None, "at")[0]


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("name", ["nothing", None, "ctid", "", "at; drop table events", 'a"t'])
def test_a_column_is_looked_up_not_believed(db, retention, name):
    assert "has no column" in refusal(retention, "p", "events", name)[0]
    assert value(db, "select count(*) from events") == 0


def test_a_dropped_column_is_not_there(make, retention):
    make("create table t (at timestamptz, x int); alter table t drop column at", "t")
    assert "has no column" in refusal(retention, "p", "t", "........pg.dropped.1........")[0]


@pytest.mark.parametrize("kind", ["int", "text", "time", "interval", "tstzrange", "stamp"])
def test_a_column_that_is_no_time_is_refused(make, retention, kind):
    make(f"create domain stamp as timestamptz; create table t (at {kind}); create index on t (at)", "t")
    message, hint = refusal(retention, "p", "t", "at")
    assert "which is not a time" in message
    assert "timestamp with time zone, timestamp or date" in hint


@pytest.mark.parametrize(
    "index",
    [
        NOTHING,
        "create index on t (id, at)",
        "create index on t (at) where id > 0",
        "create index on t using brin (at)",
        "create index on t using hash (at)",
        "create index on t ((at at time zone 'UTC'))",
        "create index on t (at nulls first)",
        "create index on t (at desc nulls last)",
        "create index b on t (at); update pg_index set indisvalid = false where indexrelid = 'b'::regclass",
    ],
)
def test_without_an_index_led_by_the_column_the_hint_is_the_index(db, make, retention, index):
    make(f"create table t (id int primary key, at timestamptz); {index}", "t")
    message, hint = refusal(retention, "p", "t", "at")
    assert "public.t has no valid index led by at" in message
    assert hint == "create index concurrently on public.t (at);"
    db.execute(hint)
    retention.add("p", "t", "at")


@pytest.mark.parametrize("index", ["(at)", "(at desc)", "(at, id)", "(at) include (id)"])
def test_any_index_led_by_the_column_will_do(make, retention, index):
    make(f"create table t (id int, at timestamptz); create index on t {index}", "t")
    retention.add("p", "t", "at")


def test_every_partition_needs_its_index(db, make, retention):
    make(
        "create table log (at timestamptz) partition by range (at);"
        "create table log_1 partition of log for values from (minvalue) to ('2020-01-01');"
        "create table log_2 partition of log for values from ('2020-01-01') to (maxvalue)"
        " partition by range (at);"
        "create table log_3 partition of log_2 for values from ('2020-01-01') to (maxvalue);"
        "create index on log_1 (at)",
        "log",
    )
    message, hint = refusal(retention, "p", "log", "at")
    assert "public.log_3 has no valid index" in message
    first, second = hint.splitlines()
    assert first == "create index concurrently on public.log_3 (at);"
    db.execute(first)
    db.execute(second)
    retention.add("p", "log", "at")
    assert (
        value(db, "select count(*) from pg_index where indrelid in ('log_1'::regclass, 'log_3'::regclass)")
        == 2
    )


def test_a_partition_that_lies_elsewhere_is_refused(make, retention):
    make(
        f"{SERVER};"
        "create table log (at timestamptz) partition by range (at);"
        "create foreign table far partition of log for values from (minvalue) to (maxvalue) server s",
        "log",
    )
    assert (
        "public.far, a partition of public.log, is a foreign table" in refusal(retention, "p", "log", "at")[0]
    )


def test_a_policy_for_a_single_partition_is_taken(db, retention, audit_log):
    audit_log("2019-05-05", "2020-05-05")
    db.execute("grant select, delete, update on audit_log_old to reaper_owner")
    assert retention.purge(retention.enabled("p", "audit_log_old", "at")) == 1
    assert value(db, "select count(*) from audit_log") == 1


@pytest.mark.parametrize(
    "name",
    [
        'we"ird',
        "a.b",
        "Ereignisse für 日本",
        "x" * 63,
        "$$",
        "'; drop table pastes; --",
        "%I %s",
        "select",
        " ",
        "{}",
    ],
)
def test_strange_names_are_quoted_wherever_they_appear(db, retention, name):
    table = sql.Identifier(name, name)
    column = sql.Identifier(name)
    db.execute(sql.SQL("create schema {}").format(column))
    db.execute(sql.SQL("create table {} (id int, {} timestamptz)").format(table, column))
    spelled = table.as_string(db)
    with refused("RP005") as caught:
        retention.add("p", spelled, name)
    for fix in caught.value.diag.message_hint.splitlines():
        db.execute(fix)
    db.execute(sql.SQL("insert into {} values (1, '2000-01-01'), (2, now())").format(table))
    retention.enabled("p", spelled, name)
    assert retention.plan("p").rows_aged == 1
    assert retention.purge("p") == 1
    assert value(db, "select table_name::regclass = %s::regclass from reaper.policies", spelled)
    db.execute(sql.SQL("alter table {} add primary key (id)").format(table))
    db.execute(sql.SQL("insert into {} values (1, '2000-01-01')").format(table))
    assert retention.purge("p") == 1
    assert db.execute(sql.SQL("select id from {}").format(table)).fetchall() == [(2,)]
