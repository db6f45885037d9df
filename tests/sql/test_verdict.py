"""The verdict: the truth table, line by line, and what must be no alarm."""

from datetime import UTC, datetime

import pytest

from reaper.errors import ConfigError
from reaper.services import schedule_syntax
from tests.support.paste_fixtures import column, record, refused, value
from tests.support.verdict_cases import CASES, CONTINUOUS, HOURLY, Case, Scene


@pytest.fixture
def scene(db):
    return Scene(db)


def judged(db):
    return record(db, "select * from reaper.health")


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_the_verdict_and_its_reasons_are_those_of_the_truth_table(db, scene, case: Case):
    case.arrange(scene)
    health = judged(db)
    assert (health.verdict, len(health.reasons)) == (case.verdict, len(case.words)), health.reasons
    for reason, words in zip(health.reasons, case.words, strict=True):
        assert [word for word in words if word not in reason] == [], reason


def test_a_fresh_installation_is_ok_before_any_worker_has_run(db, paste):
    db.execute("select reaper.register_service('drain', '0 0 * * *', 'x')")
    paste("due", expires="-3 hours")
    assert judged(db).reasons == []
    paste("late", expires="-27 hours")
    health = judged(db)
    assert health.verdict == "stalled"
    assert "rows are late, no worker is alive, and no batch ever finished" in health.reasons[0]
    assert "it was never planned" in health.reasons[1]


def test_a_long_drain_by_hand_where_no_worker_ever_ran_is_no_alarm(db, me, clock):
    clock.stop()
    db.execute("select reaper.register_service(n, '1 hour', 'x') from unnest('{drain,prune}'::text[]) as n")
    me.heartbeat()
    clock.advance("1 hour")
    me.heartbeat()
    assert judged(db).reasons == []
    db.execute("select reaper.enqueue_run('drain', null, reaper.clock() + interval '1 hour')")
    assert "service prune is overdue" in judged(db).reasons[0]


def test_a_nightly_drain_is_well_in_the_middle_of_the_day_and_while_it_drains(db, scene):
    scene.paste("a", expires="+12 hours")
    scene.start()
    scene.run()
    scene.later("12 hours 1 minute")
    assert judged(db).reasons == []
    scene.later("12 hours")
    scene.start()
    scene.run()
    scene.later("1 hour 59 minutes")
    assert judged(db).reasons == []
    scene.later("2 minutes")
    assert judged(db).verdict == "behind"


@pytest.mark.parametrize(("every", "step"), [(HOURLY, "1 hour"), (CONTINUOUS, "1 minute")])
def test_a_frequent_drain_that_keeps_up_is_well(db, scene, every, step):
    for _ in range(130 if every == CONTINUOUS else 5):
        scene.start(every=every)
        scene.run()
        scene.later(step)
    scene.paste("a", expires="-2 minutes")
    scene.run()
    assert judged(db).reasons == []
    starts = value(db, "select recent_starts from reaper.services where name = 'drain'")
    assert len(starts) == (121 if every == CONTINUOUS else 3)


def test_a_worker_that_restarts_within_a_minute_of_the_first_due_service_is_no_stall(db, scene):
    scene.sql("select reaper.retire_worker('worker-1')")
    scene.alone("119 seconds")
    assert (judged(db).verdict, judged(db).workers_alive) == ("ok", 0)
    scene.alone("2 seconds")
    assert judged(db).verdict == "stalled"
    scene.beat()
    assert judged(db).verdict == "ok"


def test_a_process_that_takes_no_jobs_is_no_worker(db, scene):
    scene.sql("select reaper.retire_worker('worker-1')")
    scene.alone("122 seconds")
    scene.sql("select reaper.heartbeat('watchdog by hand', p_takes_jobs => false)")
    health = judged(db)
    assert (health.verdict, health.workers_alive) == ("stalled", 0)
    assert "no worker is alive" in health.reasons[0]


def test_a_run_that_moves_is_no_stall_and_one_whose_worker_waits_says_why(db, scene):
    scene.paste.many("p", 2)
    scene.start()
    scene.run()
    scene.clock.advance("1 second")
    scene.sql("select reaper.begin_run('drain', 'worker-1')")
    scene.later("11 minutes")
    scene.sql("select reaper.record_throttle('worker-1', 'replica east is 00:02:00 behind')")
    assert "Worker worker-1 waits: replica east is 00:02:00 behind" in judged(db).reasons[0]
    scene.me.claim(1)
    assert judged(db).verdict == "ok"


def test_a_drain_that_waits_in_run_after_run_stands_still_and_says_why(db, scene):
    scene.paste("a")
    scene.start()
    for minutes in range(12):
        wait = f"replica east is 00:{minutes + 2:02}:00 behind"
        scene.sql("select reaper.record_throttle('worker-1', %s)", wait)
        assert (judged(db).verdict == "stalled") == (minutes >= 10)
        scene.run()
        scene.later("1 minute")
    assert "Worker worker-1 waits: replica east is 00:13:00 behind" in judged(db).reasons[0]
    scene.sql("select reaper.record_throttle('worker-1', null)")
    assert judged(db).reasons == []


def test_a_worker_that_still_says_that_it_waits_is_no_alarm_where_no_row_does(db, scene):
    scene.start()
    scene.sql("select reaper.record_throttle('worker-1', 'replica east is behind')")
    scene.run()
    scene.later("1 hour")
    assert judged(db).reasons == []


def test_a_pause_that_cuts_a_run_short_makes_nothing_late_when_it_ends(db, scene):
    scene.paste("a", expires="-1 hour")
    scene.start()
    scene.sql("select reaper.begin_run('drain', 'worker-1')")
    scene.sql("select reaper.pause('drain', '5 hours', 'index build')")
    scene.sql("select reaper.enqueue_next_run('drain', 'reaper:drain', 'drain:0', '{\"slot\": 0}')")
    scene.sql("select reaper.finish_run('drain', null)")
    scene.later("4 hours")
    with db.transaction(force_rollback=True):
        scene.sql("select reaper.resume('drain')")
        assert judged(db).reasons == []
    scene.later("61 minutes")
    assert judged(db).reasons == []
    scene.sql("select reaper.resume('drain')")
    assert judged(db).reasons == [], "the pause was over already"


def test_rows_that_expire_in_a_pause_without_a_start_wait_for_the_next_start(db, scene):
    scene.start()
    scene.run()
    scene.later("10 hours")
    scene.sql("select reaper.pause('drain', '2 hours', 'index build')")
    scene.paste("a", expires="+1 hour")
    scene.later("5 hours")
    assert judged(db).reasons == []


def test_resuming_what_is_not_paused_hides_no_lateness(db, scene):
    scene.paste("a")
    scene.start()
    scene.run()
    scene.later("121 minutes")
    scene.sql("select reaper.resume('drain')")
    assert judged(db).verdict == "behind"


@pytest.mark.parametrize("ends", [True, False])
def test_a_start_that_is_skipped_during_a_run_is_overdue_only_if_that_run_does_not_end(db, scene, ends):
    scene.sql("select reaper.begin_run('prune', 'worker-1')")
    scene.clock.advance("1 second")
    scene.start("prune")
    scene.sql("select reaper.record_skipped_run('prune')")
    if ends:
        scene.sql("select reaper.finish_run('prune', null)")
    scene.clock.advance("11 minutes")
    scene.beat()
    scene.sql("update reaper.services set next_run_at = reaper.clock() + '1 minute' where name <> 'drain'")
    reasons = judged(db).reasons
    assert len(reasons) == (0 if ends else 1)
    assert all("Worker worker-1 began a run" in reason for reason in reasons)


def test_a_lock_that_a_prepared_transaction_holds_is_found_there(db, scene):
    with db.transaction(force_rollback=True):
        scene.sql(
            "create or replace function reaper_internal.advisory_lock_holders()"
            " returns table"
            " (lock_key integer, pid integer, login text, application text, runs_services boolean)"
            " language sql as $$ select s.service_key, null::integer, null, null, false"
            " from reaper.services s where s.name = 'drain' $$"
        )
        [reason] = judged(db).reasons
    assert reason.startswith("a prepared transaction holds the advisory lock of service drain")
    assert reason.endswith("Find it in pg_prepared_xacts and roll it back.")


@pytest.mark.parametrize("degraded", ["[]", "1", '"redis"', "null"])
def test_a_heartbeat_with_anything_but_an_object_is_refused(db, scene, degraded):
    with refused("RP005", "p_degraded"):
        scene.beat(degraded)
    assert judged(db).reasons == []


def test_an_old_error_of_a_run_is_no_fault_of_a_new_schedule(db, scene):
    scene.run("prune", "disk full once")
    scene.clock.advance("1 second")
    scene.sql("select reaper.reschedule('prune', '2 hours')")
    assert judged(db).reasons == []


def test_a_pause_hides_no_other_trouble_and_its_end_makes_nothing_late(db, scene):
    scene.paste("a")
    scene.sql("select reaper.pause('drain', '10 hours', 'index build')")
    scene.sql("update reaper.settings set clock_may_move = true")
    scene.later("9 hours")
    health = judged(db)
    assert (health.verdict, len(health.reasons)) == ("attention", 2)
    scene.sql("update reaper.settings set clock_may_move = false")
    with db.transaction(force_rollback=True):
        scene.sql("select reaper.resume('drain')")
        assert judged(db).reasons == [], "resumed: the run that was missed starts now"
        scene.later("121 minutes")
        assert judged(db).verdict == "stalled"
    scene.later("61 minutes")
    assert judged(db).reasons == [], "the pause has ended by itself"
    scene.start()
    scene.later("121 minutes")
    assert judged(db).verdict == "stalled"


def test_a_drain_that_is_switched_off_says_so_and_is_not_late_when_it_is_switched_on(db, scene):
    scene.paste("old", expires="-40 days")
    scene.start()
    scene.sql("select reaper.disable_service('drain')")
    scene.later("10 days")
    health = judged(db)
    assert health.verdict == "paused"
    [reason] = health.reasons
    assert "the drain is switched off: 1 row waits, the oldest expired 50 d ago" in reason
    assert "reaper service enable drain" in reason
    scene.sql("select reaper.pause('drain', '1 hour', 'month closing')")
    [off, paused] = judged(db).reasons
    assert off == reason, "switched on, it would still be paused: both are said"
    assert "drain is paused until" in paused
    assert "month closing" in paused
    scene.sql("select reaper.resume('drain')")
    scene.sql("select reaper.enable_service('drain')")
    assert judged(db).reasons == []
    scene.later("121 minutes")
    assert judged(db).verdict == "stalled"


def test_another_paused_service_is_named_too(db, scene):
    scene.sql("select reaper.pause('prune', '1 hour', 'disk is full')")
    health = judged(db)
    assert health.verdict == "paused"
    assert "prune is paused until" in health.reasons[0]
    assert "rows wait" not in health.reasons[0]


def test_a_service_that_is_off_or_paused_is_neither_failing_nor_overdue(db, scene):
    for name in ("prune", "accounts"):
        for _ in range(3):
            scene.run(name, "disk full")
        scene.start(name)
    scene.sql("select reaper.disable_service('prune')")
    scene.sql("select reaper.pause('accounts', '1 hour', 'x')")
    scene.clock.advance("20 minutes")
    scene.sql("update reaper.services set next_run_at = reaper.clock() + '1 minute' where name <> 'drain'")
    scene.beat()
    assert judged(db).verdict == "paused"


def test_jobs_that_the_rescue_has_yet_to_see_and_jobs_of_others_are_no_alarm(db, scene):
    scene.job("service:prune", "doing", "4 minutes")
    scene.job("service:accounts", "todo", "5 minutes")
    db.execute("set search_path = public, procrastinate")
    db.execute("update procrastinate_jobs set task_name = 'mail.send', queueing_lock = 'mail'")
    db.execute("update procrastinate_events set at = at - interval '1 day'")
    db.execute("reset search_path")
    assert judged(db).reasons == []


def test_only_workers_that_live_say_that_redis_is_away(db, scene):
    scene.sql("""select reaper.heartbeat('gone', p_degraded => '{"redis": "no connection"}')""")
    scene.later("61 seconds")
    assert judged(db).reasons == []
    scene.beat('{"redis": "no connection"}')
    assert "Redis does not answer" in judged(db).reasons[0]
    scene.beat("{}")
    assert judged(db).reasons == []


def test_dead_workers_leave_the_list_after_an_hour_unless_they_hold_a_batch(db, scene, worker):
    scene.paste("a")
    scene.sql("select reaper.heartbeat('dead'), reaper.heartbeat('holder')")
    worker("holder").claim(1)
    scene.later("59 minutes")
    assert column(db, "select worker from reaper.fleet order by 1") == ["dead", "holder", "worker-1"]
    scene.later("2 minutes")
    assert column(db, "select worker from reaper.fleet order by 1") == ["holder", "worker-1"]
    scene.sql("select reaper.reset_stuck()")
    assert column(db, "select worker from reaper.fleet") == ["worker-1"]


SCHEDULES = [
    "continuous",
    "15 minutes",
    "1 day",
    "@hourly",
    "0 0 * * *",
    "*/5 1-4,22 1 jan,feb mon-fri",
    "0 0 29 2 *",
]
NO_SCHEDULES = [
    "nightly", "15 min", "0 minutes", "@never", "0 0 * *", "0 0 * * * *", "60 0 * * *", "0 24 * * *",
    "0 0 0 * *", "0 0 * 13 *", "0 0 * * 8", "0 0 30 2 *", "0 0 31 4 *", "*/0 * * * *", "0  0 * * *",
    "0,, * * * *",
]  # fmt: skip


def test_a_schedule_that_workers_can_read_is_accepted_and_any_other_refused(db, scene):
    for schedule in SCHEDULES:
        scene.sql("select reaper.reschedule('drain', %s)", schedule)
        schedule_syntax.parse(schedule)
    for schedule in NO_SCHEDULES:
        with refused("RP005", "invalid schedule") as refusal:
            db.execute("select reaper.reschedule('drain', %s)", [schedule])
        assert "@hourly" in refusal.value.diag.message_hint
        with pytest.raises(ConfigError):
            schedule_syntax.next_run(schedule, datetime.now(UTC))


CLEAR_A_PLAN = [
    "select reaper.reschedule('prune', '2 hours')",
    "select reaper.register_service('prune', '3 hours', 'x')",
    "select reaper.register_service('new', '1 hour', 'x')",
    "update reaper.settings set time_zone = 'Asia/Tokyo'; select reaper.sync_services()",
    (
        "select reaper.disable_service('prune'), reaper.reschedule('prune', '2 hours');"
        "select reaper.enable_service('prune')"
    ),
]


@pytest.mark.parametrize("change", CLEAR_A_PLAN)
def test_a_service_is_not_overdue_before_a_worker_could_plan_it_anew(db, scene, change):
    scene.sql("update reaper.services set schedule = '@daily' where name = 'accounts'")
    scene.sql("update reaper.services set planned_zone = 'UTC'")
    scene.later("3 days")
    scene.plan()
    db.execute(change)
    assert value(db, "select count(*) from reaper.services where next_run_at is null") >= 1
    assert judged(db).reasons == []
    scene.clock.advance("11 minutes")
    scene.beat()
    scene.sql("update reaper.services set next_run_at = reaper.clock() where next_run_at is not null")
    assert "is overdue: it should have started" in judged(db).reasons[0]
    assert "11 min ago" in judged(db).reasons[0]


def test_a_drain_that_is_made_continuous_with_rows_waiting_is_no_stall(db, scene):
    scene.start()
    scene.run()
    scene.later("3 hours")
    scene.paste("a", expires="-4 hours")
    scene.start(every=HOURLY)
    scene.run()
    scene.sql("update reaper.services set recent_starts = array[reaper.clock() - interval '1 hour']")
    scene.sql("select reaper.reschedule('drain', 'continuous')")
    assert judged(db).reasons == []


def test_a_service_whose_schedule_cannot_be_read_is_named(db, scene):
    scene.sql("select reaper.reschedule('prune', '0 0 * * L8')")
    scene.sql("select reaper.finish_run('prune', null, 'invalid schedule ''0 0 * * L8''.')")
    health = judged(db)
    assert health.verdict == "attention"
    [reason] = health.reasons
    assert "service prune is not planned: invalid schedule '0 0 * * L8'" in reason
    assert "select reaper.reschedule('prune', '1 hour')" in reason
    scene.sql("update reaper.services set schedule = 'nightly', last_error = null where name = 'prune'")
    assert "service prune is not planned: 'nightly' is neither cron" in judged(db).reasons[0]


def test_a_server_without_free_connections_is_named_with_the_login_that_has_most(db):
    assert column(db, "select reaper_internal.connection_reasons()") == []
    with db.transaction():
        # Who asks in the end, and is told little about the sessions of others.
        db.execute("set local role reaper_owner")
        [reason] = column(db, "select reaper_internal.connection_reasons(100000)")
    assert "connections of the server are in use" in reason
    assert f"login {db.info.user} has" in reason
    assert f"alter role {db.info.user} connection limit" in reason
