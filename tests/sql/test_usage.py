"""Usage: totals of processes are kept once, whatever is repeated, lost, late or at the same time."""

import json
from decimal import Decimal
from uuid import UUID, uuid4

import pytest

from tests.support.paste_fixtures import Connection, column, record, refused, value

ONE, TWO = UUID(int=1), UUID(int=2)
FIGURES = ("requests_read", "requests_write", "requests_list", "requests_delete", "ingress", "egress")


def month(db: Connection, ago: str = "0 months") -> str:
    return str(
        value(db, "select (date_trunc('month', reaper.clock() at time zone 'UTC') - %s::interval)::date", ago)
    )


def told(db: Connection, process: UUID = ONE, backend: str = "default", **figures) -> dict:
    return {"process": str(process), "month": month(db), "backend": backend, **figures}


def flush(db: Connection, *rows: dict, flush_id: UUID | None = None):
    return record(db, "select * from reaper.flush_usage(%s, %s)", flush_id or uuid4(), json.dumps(rows))


def fold(db: Connection, older_than: str = "0") -> tuple[int, int]:
    return tuple(record(db, "select * from reaper.fold_usage(1000, %s)", older_than))


def usage(db: Connection, backend: str = "default") -> tuple[int, ...] | None:
    return db.execute(
        f"select {', '.join(FIGURES)} from reaper.usage where backend = %s and month = %s",
        [backend, month(db)],
    ).fetchone()


@pytest.fixture
def east(db):
    db.execute("select reaper.register_backend('east')")


def test_totals_are_kept_per_process_and_added_up_per_backend_and_month(db):
    flush(db, told(db, requests_read=3, egress=30), told(db, TWO, requests_write=2, ingress=20))
    flush(db, told(db, backend="east", requests_list=1), told(db, TWO, backend="east", requests_delete=4))
    assert usage(db) == (3, 2, 0, 0, 20, 30)
    assert usage(db, "east") == (0, 0, 1, 4, 0, 0)
    assert value(db, "select requests from reaper.usage where backend = 'east'") == 5


def test_a_report_that_is_repeated_late_or_doubled_changes_nothing(db):
    flush_id, later = uuid4(), told(db, requests_read=5, egress=50)
    first = flush(db, told(db, requests_read=3, egress=30), flush_id=flush_id)
    assert (first.rows_changed, first.flush_again_in.total_seconds()) == (1, 30)
    assert flush(db, told(db, requests_read=9), flush_id=flush_id).rows_changed == 0
    assert flush(db, later, later, told(db, requests_read=4, egress=1)).rows_changed == 1
    assert flush(db, told(db, requests_read=3, egress=30)).rows_changed == 0
    assert usage(db) == (5, 0, 0, 0, 0, 50)
    assert value(db, "select count(*) from reaper.usage_flushes") == 2


def test_what_is_quiet_is_folded_once_and_a_process_that_was_only_silent_is_counted_on(db):
    flush(db, told(db, requests_read=3), told(db, TWO, requests_read=4))
    assert fold(db, "10 minutes") == (0, 0)
    assert fold(db) == (2, 0)
    assert (fold(db), usage(db)) == ((0, 0), (7, 0, 0, 0, 0, 0))
    # Its old report comes again, as from Redis, and then it wakes up.
    flush(db, told(db, requests_read=3))
    assert usage(db)[0] == 7
    flush(db, told(db, requests_read=10))
    assert usage(db)[0] == 14
    assert (fold(db), usage(db)[0]) == ((1, 0), 14)
    assert value(db, "select requests_read from reaper.usage_monthly") == 14


def test_a_month_is_closed_a_week_after_its_end_and_its_processes_are_forgotten_a_day_later(db, clock):
    then = month(db)
    flush(db, told(db, requests_read=3))
    end = value(db, "select %s::date + interval '1 month' - reaper.clock() at time zone 'UTC'", then)
    clock.advance(end)
    clock.advance("6 days 23 hours")
    late = {**told(db, requests_read=4), "month": then}
    assert flush(db, late, told(db, requests_read=1)).rows_changed == 2
    clock.advance("2 hours")
    assert flush(db, {**late, "requests_read": 99}).rows_changed == 0
    assert fold(db)[0] == 2
    clock.advance("1 day")
    folded, deleted = fold(db)
    assert (folded, deleted >= 1) == (0, True)
    assert column(db, "select month::text from reaper.usage_processes") == [month(db)]
    assert column(db, "select requests from reaper.usage order by month") == [4, 1]
    ahead = {
        **told(db, requests_read=5),
        "month": str(value(db, "select (%s::date + interval '2 months')::date", month(db))),
    }
    assert flush(db, ahead).rows_changed == 0


@pytest.mark.parametrize(
    "rows",
    [
        "null",
        "{}",
        '"x"',
        "[1]",
        '[{"process": "x", "month": "2026-01-01", "backend": "default"}]',
        '[{"process": "00000000-0000-0000-0000-000000000001", "month": "2026-01-02", "backend": "default"}]',
        '[{"process": "00000000-0000-0000-0000-000000000001", "month": "2026-01-01", "backend": "a b"}]',
        '[{"process": "%s", "month": "2026-01-01", "backend": "a", "egress": -1}]'.replace("%s", f"{ONE}"),
        '[{"process": "%s", "month": "2026-01-01", "backend": "a", "egress": 1e30}]'.replace("%s", f"{ONE}"),
    ],
)
def test_what_is_no_report_is_refused_before_anything_is_written(db, rows):
    with refused("RP005"):
        db.execute("select reaper.flush_usage(gen_random_uuid(), %s)", [rows])
    with refused("RP005", "p_flush_id"):
        db.execute("select reaper.flush_usage(null, '[]')")
    assert value(db, "select count(*) from reaper.usage_processes") == 0


@pytest.mark.usefixtures("east")
def test_a_limit_follows_the_configuration_until_somebody_decides_otherwise_audited(db):
    def limits():
        return db.execute("select what, amount from reaper.usage_limits order by what").fetchall()

    db.execute("select reaper.register_limits('east', 100, null, 5)")
    assert limits() == [("monthly_egress", 5), ("monthly_requests", 100)]
    db.execute("select reaper.set_limit('east', 'monthly_requests', 50, 'too dear')")
    db.execute("select reaper.register_limits('east', 200, 7, null)")
    assert limits() == [("monthly_egress", None), ("monthly_ingress", 7), ("monthly_requests", 50)]
    assert record(db, "select action, subject, reason, detail from reaper.audit") == (
        *("set_limit", "east", "too dear", "monthly_requests from 100 to 50"),
    )
    for call in (
        "set_limit('west', 'monthly_requests', 1, 'why')",
        "set_limit('east', 'yearly', 1, 'why')",
        "set_limit('east', 'monthly_requests', -1, 'why')",
        "set_limit('east', 'monthly_requests', 1, ' ')",
        "register_limits('west', 1)",
        "register_limits('east', -1)",
    ):
        with refused("RP005"):
            db.execute(f"select reaper.{call}")


@pytest.mark.usefixtures("east")
@pytest.mark.parametrize(("what", "figure"), [("requests", "requests_delete"), ("ingress", "ingress")])
def test_a_put_goes_to_the_next_backend_when_a_limit_is_used_up_and_is_refused_when_none_is_left(
    db, writer, clock, what, figure
):
    db.execute("select reaper.set_quota('default', 1000000, 'so that the other one is first')")
    db.execute(f"select reaper.set_limit('east', 'monthly_{what}', 10, 'why')")
    flush(db, told(db, backend="east", **{figure: 9}))
    assert writer.begin("a", "g").backend == "east"
    flush(db, told(db, TWO, backend="east", **{figure: 1}))
    assert writer.begin("b", "h").backend == "default"
    db.execute("select reaper.set_limit('default', 'monthly_requests', 0, 'why')")
    with refused("RP008", f"east has used its monthly_{what} of 10"):
        writer.begin("c", "i")
    clock.advance("1 month")
    db.execute("select reaper.set_limit('default', 'monthly_requests', null, 'why')")
    assert writer.begin("d", "j").backend == "east"


@pytest.mark.usefixtures("east")
def test_a_read_takes_the_next_copy_when_a_limit_is_used_up_and_the_last_one_all_the_same(db, writer):
    writer.put("a", "h", 10)
    db.execute(
        "insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)"
        " select content_hash, b, 'k-' || b, 10, now() from unnest('{default,east}'::text[]) as b"
        " cross join (select distinct content_hash from reaper.object_locations) as l on conflict do nothing"
    )
    db.execute("select reaper_internal.add_bytes('east', 10)")
    ways = "select backend from reaper.copies_of('h')"
    assert column(db, ways) == ["default", "east"]
    db.execute("select reaper.set_limit('default', 'monthly_egress', 100, 'why')")
    flush(db, told(db, egress=100))
    assert column(db, ways) == ["east", "default"]
    assert value(db, "select backend from reaper.get_paste('a')") == "east"
    db.execute("select reaper.set_limit('east', 'monthly_requests', 0, 'why')")
    assert column(db, ways) == ["default", "east"]


@pytest.mark.usefixtures("east")
def test_near_a_limit_the_flush_comes_each_five_seconds_and_each_crossing_is_recorded_once(db, clock):
    db.execute("select reaper.register_service('usage_flush', '30 seconds', '')")
    db.execute("update reaper.services set next_run_at = reaper.clock() + interval '30 seconds'")
    db.execute("select reaper.set_limit('east', 'monthly_requests', 100, 'why')")
    db.execute("select reaper.set_quota('default', 100, 'why')")
    db.execute("select reaper_internal.add_bytes('default', 80)")
    nearly = "select count(*) from reaper.nearly_full where what = %s"
    assert flush(db, told(db, backend="east", requests_read=79)).flush_again_in.total_seconds() == 30
    assert value(db, "select reaper.record_nearly_full()") == 1
    assert flush(db, told(db, backend="east", requests_read=80)).flush_again_in.total_seconds() == 5
    assert value(db, "select next_run_at <= reaper.clock() + interval '5 seconds' from reaper.services")
    assert [value(db, "select reaper.record_nearly_full()") for _ in range(2)] == [1, 0]
    assert (value(db, nearly, "bytes"), value(db, nearly, "monthly_requests")) == (1, 1)
    db.execute("update reaper.settings set near_limit = 0.9")
    assert value(db, "select reaper.record_nearly_full()") == 0
    assert value(db, "select count(*) from reaper.nearly_full") == 0
    db.execute("update reaper.settings set near_limit = 0.8")
    assert value(db, "select reaper.record_nearly_full()") == 2
    clock.advance("1 month")
    db.execute("select reaper.record_nearly_full()")
    assert column(db, "select what from reaper.nearly_full") == ["bytes"]


def test_the_state_is_taken_once_for_all_and_nobody_waits_for_it(db, connect, clock):
    look = "select taken_at from reaper.refresh_state()"
    first = value(db, look)
    assert value(db, look) == first
    clock.advance("9 seconds")
    with db.transaction():
        second = value(db, look)
        assert second > first
        other = connect()
        other.execute("set lock_timeout = '1s'")
        # It is being made: the one before.
        assert value(other, look) == first
    assert value(connect(), look) == second


def test_the_state_shows_bad_copies_wants_and_open_uploads_and_reads_no_good_copy(db, paste, copy):
    gauges = (
        "select g ->> 'gauge', g #>> '{labels,trouble}', (g -> 'value')::int"
        "  from reaper_internal.copy_gauges() as g"
    )
    for number in range(3):
        paste(f"p{number}", content=f"h{number}", expires="1 day")
        copy(f"h{number}", "east")
    assert set(db.execute(gauges).fetchall()) == {
        ("copies", "missing", 0),
        ("copies", "corrupt", 0),
        ("copy_wants", None, 0),
        ("multipart_uploads", None, 0),
    }
    for number, trouble in enumerate(("missing", "corrupt", "corrupt")):
        bad = [f"h{number}", f"key of h{number}", trouble]
        db.execute("select reaper.report_copy(%s, 'east', %s, %s)", bad)
    for backend, uploads in ("east", 4), ("west", 1):
        db.execute("select reaper.record_uploads(%s, %s, null, 0, 0)", [backend, uploads])
    assert set(db.execute(gauges).fetchall()) == {
        ("copies", "missing", 1),
        ("copies", "corrupt", 2),
        ("copy_wants", None, 3),
        ("multipart_uploads", None, 5),
    }
    db.execute("set enable_seqscan = off")
    counted = "explain select from reaper.object_locations o where o.trouble = 'corrupt' limit 100000"
    assert "object_locations_trouble" in "\n".join(column(db, counted))


def test_the_state_shows_how_well_each_backend_is_known(db, paste, copy):
    gauges = "select g ->> 'gauge', (g -> 'value')::numeric from reaper_internal.integrity_gauges() as g"
    names = (
        *("verified_share", "oldest_verified_timestamp_seconds", "untracked_objects"),
        "oldest_multipart_upload_timestamp_seconds",
    )
    assert dict(db.execute(gauges).fetchall()) == dict.fromkeys(names, 0)
    for number in range(4):
        paste(f"p{number}", content=f"h{number}", expires="1 day")
        copy(f"h{number}", "default")
    db.execute(
        "update reaper.object_locations set verified_at = '2000-01-01 00:00+00' where content_hash = 'h0'"
    )
    db.execute("update reaper.object_locations set verified_at = now() where content_hash <> 'h0'")
    db.execute("select reaper.record_scrubbed('default', '', 4, 0, 40, null)")
    db.execute("select reaper.record_uploads('default', 1, '2000-01-02 00:00+00', 0, 0)")
    db.execute("insert into reaper.sightings values ('default', 'k', 1, now(), now(), null, null)")
    day = 86_400
    assert dict(db.execute(gauges).fetchall()) == dict(
        zip(names, (Decimal("0.75"), 10_957 * day, 1, 10_958 * day), strict=True)
    )


def test_no_statement_of_the_hot_path_reads_a_table_of_usage_as_a_whole(db):
    db.execute("set enable_seqscan = off")
    db.execute(
        "insert into reaper.usage_processes (process, month, backend, seen_at, is_open)"
        " select gen_random_uuid(), '2026-01-01', 'b' || n % 3, now(), n % 50 = 0"
        "   from generate_series(1, 5000) as n"
    )
    db.execute("analyze reaper.usage_processes")
    plan = "\n".join(column(db, "explain select * from reaper_internal.month_usage('b1', '2026-01-01')"))
    assert "usage_processes_open" in plan, plan
    assert "Seq Scan" not in plan, plan
