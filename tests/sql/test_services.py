"""The schedule as data: what is due, dispatched once, paused, rescheduled, audited."""

import pytest

from tests.support.paste_fixtures import column, record, refused, value


@pytest.fixture
def services(db):
    """A nightly and a frequent one, both planned."""
    for name, schedule in {"drain": "0 0 * * *", "sweep": "15 seconds"}.items():
        db.execute("select reaper.register_service(%s, %s, 'does things')", [name, schedule])
        db.execute("select reaper.enqueue_run(%s, null, reaper.clock() + interval '1 hour')", [name])


def due(db) -> set[str]:
    return set(column(db, "select name from reaper.sync_services()"))


def seen(db, name):
    return value(db, "select next_run_at from reaper.schedule where name = %s", name)


def enqueue_run(db, name) -> int:
    return value(
        db, "select reaper.enqueue_run(%s, %s, reaper.clock() + interval '1 day')", name, seen(db, name)
    )


def waiting(db) -> list[str]:
    return column(db, "select lock from reaper.jobs where status = 'todo' order by lock")


def test_a_new_service_is_to_be_planned_first_and_does_not_run_at_once(db):
    db.execute("select reaper.register_service('sweep', '1 minute', 'does things')")
    assert due(db) == {"sweep"}
    assert value(db, "select reaper.enqueue_run('sweep', null, reaper.clock() + interval '30 seconds')") == 0
    assert due(db) == set()
    assert waiting(db) == []


@pytest.mark.usefixtures("services")
def test_a_service_is_due_when_its_time_has_come_and_is_dispatched_once(db, clock):
    clock.advance("2 hours")
    assert due(db) == {"drain", "sweep"}
    planned = seen(db, "sweep")
    assert enqueue_run(db, "sweep") == 1
    assert value(db, "select reaper.enqueue_run('sweep', %s, reaper.clock())", planned) == 0, (
        "a tick that came late"
    )
    assert due(db) == {"drain"}
    assert waiting(db) == ["service:sweep"]


@pytest.mark.usefixtures("services")
def test_a_run_that_was_missed_many_times_is_made_up_for_once(db, clock):
    clock.advance("30 days")
    assert enqueue_run(db, "sweep") == 1
    assert due(db) == {"drain"}


@pytest.mark.usefixtures("services")
def test_the_drain_has_one_job_per_slot(db, clock):
    db.execute("update reaper.settings set drain_slots = 3")
    clock.advance("1 day")
    assert enqueue_run(db, "drain") == 3
    assert waiting(db) == ["drain:0", "drain:1", "drain:2"]


def test_of_each_name_one_job_waits_at_most(db):
    assert value(db, "select reaper.enqueue_job('reaper:service', 'service:x', '{}')") is True
    assert value(db, "select reaper.enqueue_job('reaper:service', 'service:x', '{}')") is False
    assert waiting(db) == ["service:x"]


@pytest.mark.usefixtures("services")
def test_a_pause_keeps_a_service_from_running_and_ends_by_itself(db, clock):
    clock.advance("2 hours")
    db.execute("select reaper.pause('drain', '2 hours', 'the month is closing')")
    assert due(db) == {"sweep"}
    assert enqueue_run(db, "drain") == 0
    clock.advance("2 hours 1 second")
    assert "drain" in due(db)


@pytest.mark.usefixtures("services")
def test_resume_ends_a_pause_before_its_time(db, clock):
    clock.advance("2 hours")
    db.execute("select reaper.pause('drain', '2 hours', 'why')")
    db.execute("select reaper.resume('drain')")
    assert "drain" in due(db)


@pytest.mark.usefixtures("services")
def test_run_now_makes_a_service_due(db):
    assert due(db) == set()
    db.execute("select reaper.run_now('drain', 'asked for')")
    assert due(db) == {"drain"}


@pytest.mark.parametrize(
    ("prepare", "sqlstate", "hint"),
    [
        ("select reaper.pause('drain', '1 hour', 'why')", "RP011", "resume"),
        ("select reaper.disable_service('drain')", "RP005", "enable_service"),
    ],
)
@pytest.mark.usefixtures("services")
def test_run_now_says_what_stands_in_the_way(db, prepare, sqlstate, hint):
    db.execute(prepare)
    with refused(sqlstate) as caught:
        db.execute("select reaper.run_now('drain')")
    assert hint in caught.value.diag.message_hint


@pytest.mark.usefixtures("services")
def test_what_a_dba_changed_stays_when_a_worker_starts_again(db):
    db.execute("select reaper.reschedule('sweep', '1 hour', 'too often')")
    db.execute("select reaper.disable_service('drain')")
    db.execute("select reaper.register_service('sweep', '30 seconds', 'does more')")
    db.execute("select reaper.register_service('drain', '0 0 * * *', 'does things')")
    rows = db.execute(
        "select name, schedule, enabled, description from reaper.schedule order by name"
    ).fetchall()
    assert rows == [("drain", "0 0 * * *", False, "does things"), ("sweep", "1 hour", True, "does more")]


@pytest.mark.usefixtures("services")
def test_a_new_default_replaces_an_old_default_and_is_planned_again(db):
    db.execute("select reaper.register_service('sweep', '30 seconds', 'does things')")
    assert value(db, "select schedule from reaper.schedule where name = 'sweep'") == "30 seconds"
    assert seen(db, "sweep") is None


@pytest.mark.usefixtures("services")
def test_everything_that_people_do_is_audited(db):
    db.execute("select reaper.pause('drain', '1 hour', 'a')")
    db.execute("select reaper.resume('drain', 'b')")
    db.execute("select reaper.reschedule('drain', '@hourly', 'c')")
    db.execute("select reaper.run_now('drain', 'd')")
    db.execute("select reaper.disable_service('drain', 'e')")
    db.execute("select reaper.enable_service('drain', 'f')")
    rows = db.execute("select action, subject, reason, who from reaper.audit order by audit_id").fetchall()
    actions = ["pause", "resume", "reschedule", "run_now", "disable", "enable"]
    assert [row[0] for row in rows] == actions
    assert [row[2] for row in rows] == list("abcdef")
    assert {row[1:4:2] for row in rows} == {("drain", "postgres")}


@pytest.mark.parametrize(
    "call",
    [
        "reaper.pause('drain', '0', 'why')",
        "reaper.pause('drain', '31 days', 'why')",
        "reaper.pause('drain', '1 hour', '')",
        "reaper.pause('nothing', '1 hour', 'why')",
        "reaper.resume('nothing')",
        "reaper.run_now('nothing')",
        "reaper.reschedule('drain', '')",
        "reaper.enable_service('nothing')",
    ],
)
@pytest.mark.usefixtures("services")
def test_what_makes_no_sense_is_refused_and_changes_nothing(db, call):
    before = db.execute("select * from reaper.services order by name").fetchall()
    with refused("RP005") as caught:
        db.execute(f"select {call}")
    assert caught.value.diag.message_hint
    assert db.execute("select * from reaper.services order by name").fetchall() == before


@pytest.mark.usefixtures("services")
def test_a_failing_run_is_kept_as_failing(db):
    db.execute("select reaper.begin_run('sweep', 'me')")
    db.execute("select reaper.finish_run('sweep', null, 'no bucket')")
    db.execute("select reaper.finish_run('sweep', null, 'no bucket')")
    row = record(db, "select * from reaper.schedule where name = 'sweep'")
    assert (row.last_error, row.consecutive_failures, row.last_worker) == ("no bucket", 2, "me")
    db.execute("""select reaper.finish_run('sweep', '{"done": 1}')""")
    row = record(db, "select * from reaper.schedule where name = 'sweep'")
    assert (row.last_error, row.consecutive_failures, row.last_result, row.runs) == (None, 0, {"done": 1}, 3)


@pytest.mark.usefixtures("services")
def test_two_services_never_share_a_lock(db):
    keys = column(db, "select reaper.service_lock_key(name) from reaper.services")
    assert len(set(keys)) == 2


def test_on_adopted_tables_the_drain_waits_to_be_enabled(db):
    db.execute("delete from reaper.provenance where kind = 'table'")
    db.execute("select reaper.register_service('drain', '0 0 * * *', 'x')")
    db.execute("select reaper.register_service('sweep', '1 minute', 'x')")
    assert dict(db.execute("select name, enabled from reaper.services")) == {"drain": False, "sweep": True}


@pytest.fixture
def sighted(db):
    """Whoever may not read others' activity sees no snapshots; roles are shared by all databases."""
    db.execute("grant pg_read_all_stats to reaper_owner")
    yield
    db.execute("revoke pg_read_all_stats from reaper_owner")


@pytest.mark.usefixtures("sighted")
def test_a_throttle_names_the_session_that_holds_an_old_snapshot(db, connect):
    db.execute("update reaper.settings set max_snapshot_age = '1 microsecond'")
    holder = connect(application_name="a report")
    holder.execute("begin isolation level repeatable read")
    holder.execute("select 1")
    wait, reason = db.execute("select * from reaper.throttle()").fetchone()
    assert wait
    assert str(holder.info.backend_pid) in reason
    assert "a report" in reason
    db.execute("update reaper.settings set max_snapshot_age = null")
    assert db.execute("select * from reaper.throttle()").fetchone() == (False, None)
