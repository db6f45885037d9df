"""Which rows are old: the edge, nulls, infinities, and columns without a zone."""

import pytest

from tests.support.paste_fixtures import STOPPED, column

ZONES = ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"]


def test_rows_without_a_time_and_rows_that_never_end_stay(db, make, retention):
    make("create table t (id int primary key, at timestamptz); create index on t (at)", "t")
    db.execute("insert into t values (1, null), (2, 'infinity'), (3, '-infinity'), (4, now())")
    assert retention.purge(retention.enabled("p", "t", "at")) == 1
    assert column(db, "select id from t order by id") == [1, 2, 4]


def test_a_row_of_exactly_the_age_stays(db, retention, history, clock):
    clock.stop()
    history("3 months")
    history("3 months 0.000001 seconds", tid=1)
    retention.purge(retention.enabled("p", "pgbench_history", "mtime"))
    assert column(db, "select tid from pgbench_history") == [0]


@pytest.mark.parametrize("zone", ZONES)
def test_times_without_zone_are_compared_in_utc_whatever_the_session_says(db, make, retention, zone):
    make("create table t (id int, at timestamp); create index on t (at)", "t")
    now = "reaper.clock() at time zone 'UTC'"
    db.execute(f"insert into t values (1, {now} - interval '1 day 1 minute')")
    db.execute(f"insert into t values (2, {now} - interval '1 day -1 minute')")
    db.execute("select set_config('timezone', %s, false)", [zone])
    retention.purge(retention.enabled("p", "t", "at", "1 day"))
    assert column(db, "select id from t") == [2]


@pytest.mark.parametrize("zone", ZONES)
def test_a_date_goes_when_its_whole_day_in_utc_is_old(db, make, retention, zone):
    make("create table t (id int, at date); create index on t (at)", "t")
    today = "(reaper.clock() at time zone 'UTC')::date"
    db.execute(f"insert into t select i, {today} - i from generate_series(0, 3) as i")
    db.execute("select set_config('timezone', %s, false)", [zone])
    retention.purge(retention.enabled("p", "t", "at", "1 day"))
    assert column(db, "select id from t order by id") == [0, 1]


def test_months_are_counted_in_utc_whatever_the_session_says(db, make, retention):
    make("create table t (at timestamptz); create index on t (at)", "t")
    # In New York the clocks went forward between the two: there a month ago was 13:00 in UTC.
    db.execute(STOPPED.format("2026-03-20 12:00:00+00"))
    db.execute("insert into t values ('2026-02-20 12:30:00+00')")
    db.execute("set timezone = 'America/New_York'")
    policy = retention.enabled("p", "t", "at", "1 month")
    assert retention.plan(policy).cutoff.isoformat() == "2026-02-20T07:00:00-05:00"
    assert retention.purge(policy) == 0
