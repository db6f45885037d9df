"""What the jobs do, called from here: ticks, runs, locks, budgets, pauses, throttles, purges."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from reaper.crew import Crew
from reaper.errors import BadArgument, ReaperError, ServiceLockLost
from reaper.service import Service, Tick, Tools
from reaper.services import ALL
from tests.services.world import Works, wait_until

Populate = Callable[..., None]
LOCK = "pg_try_advisory_lock(1919246704, reaper.service_lock(%s))"


def service(tick: Callable[[Tools], Tick], name: str = "sample", locked: bool = True) -> Service:
    return Service(name, "1 hour", tick, "for a test", locked)


def nothing(_: Tools) -> Tick:
    return Tick()


@pytest.fixture
def crew(world: Works) -> Iterator[Crew]:
    with world.crew() as crew:
        yield crew


def planned(world: Works, crew: Crew) -> None:
    """All services have a next run, and none is due."""
    crew.tick()
    world.sql("update reaper.services set next_run_at = reaper.clock() + interval '1 hour'")


def result(world: Works, name: str) -> Any:
    columns = "last_result, last_error, consecutive_failures, skipped, runs"
    return world.sql(f"select {columns} from reaper.schedule where name = %s", name)[0]


def test_the_first_tick_plans_every_service_and_starts_none(world: Works, crew: Crew) -> None:
    crew.tick()
    assert world.jobs() == []
    assert world.value("select count(next_run_at) from reaper.services") == len(ALL)
    assert world.value(
        "select next_run_at = date_trunc('day', reaper.clock(), 'UTC') + interval '1 day'"
        "  from reaper.services where name = 'drain'"
    )


def test_eight_ticks_at_once_queue_what_is_due_once(world: Works) -> None:
    with ExitStack() as open_crews:
        crews = [open_crews.enter_context(world.crew()) for _ in range(8)]
        planned(world, crews[0])
        world.due("watchdog")
        world.due("drain")
        start = threading.Barrier(len(crews))

        def tick(crew: Crew) -> None:
            start.wait()
            crew.tick()

        threads = [threading.Thread(target=tick, args=(crew,)) for crew in crews]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert world.jobs() == ["drain:0", "drain:1", "service:watchdog"]
    assert world.value("select count(*) from procrastinate.procrastinate_events where type = 'deferred'") == 3


def test_a_midnight_without_workers_is_made_up_for_once(world: Works) -> None:
    world.advance_clock("1 day")
    with world.crew() as crew:
        world.sql("update reaper.settings set drain_slots = 1")
        world.sql(
            "update reaper.settings set clock_offset = clock_offset"
            " + (date_trunc('day', reaper.clock(), 'UTC') + interval '23 hours 50 minutes' - reaper.clock())"
        )
        crew.tick()
        assert world.jobs() == []
    world.advance_clock("40 minutes")
    with world.crew() as crew:
        for _ in range(3):
            crew.tick()
        assert [job for job in world.jobs() if job.startswith("drain")] == ["drain:0"]
        crew.drain_slot(0)
        world.forget_jobs()
        crew.tick()
    assert [job for job in world.jobs() if job.startswith("drain")] == []
    assert world.value(
        "select next_run_at - reaper.clock() between interval '23 hours' and interval '24 hours'"
        "  from reaper.services where name = 'drain'"
    )


def test_nights_that_were_missed_are_one_run(world: Works, crew: Crew) -> None:
    planned(world, crew)
    world.sql(
        "update reaper.services set next_run_at = reaper.clock() - interval '9 days' where name = 'drain'"
    )
    crew.tick()
    crew.tick()
    assert world.jobs() == ["drain:0", "drain:1"]


def test_a_schedule_that_nobody_understands_is_reported_and_stops_no_other(world: Works, crew: Crew) -> None:
    planned(world, crew)
    world.sql("select reaper.reschedule('prune', 'every now and then')")
    world.due("owed")
    crew.tick()
    crew.tick()
    assert world.jobs() == ["service:owed"]
    _, error, failures, _, _ = result(world, "prune")
    assert "'every now and then' is no schedule" in error
    assert failures == 1


def test_a_run_is_recorded_with_its_figures(world: Works) -> None:
    with world.crew([service(lambda _: Tick({"things": 3}))]) as crew:
        crew.run_service("sample")
    assert result(world, "sample") == ({"things": 3}, None, 0, 0, 1)
    assert world.jobs() == []


def test_a_failing_run_is_a_failed_run_and_the_next_good_one_clears_it(world: Works) -> None:
    broken = [True, True, False]

    def tick(_: Tools) -> Tick:
        if broken.pop(0):
            raise ZeroDivisionError("of course")
        return Tick()

    with world.crew([service(tick)]) as crew:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                crew.run_service("sample")
        assert result(world, "sample")[1:3] == ("ZeroDivisionError: of course", 2)
        crew.run_service("sample")
        assert result(world, "sample")[1:3] == (None, 0)


def test_a_service_that_runs_elsewhere_is_skipped_in_silence_and_counted(world: Works, connect: Any) -> None:
    ran: list[int] = []

    def tick(_: Tools) -> Tick:
        ran.append(1)
        return Tick()

    with world.crew([service(tick)]) as crew:
        holder = connect()
        assert holder.execute(f"select {LOCK}", ["sample"]).fetchone() == (True,)
        with capture_logs() as logs:
            crew.run_service("sample")
        assert (ran, logs, result(world, "sample")[3:]) == ([], [], (1, 0))
        holder.close()
        wait_until(lambda: crew.run_service("sample") or bool(ran), "the lock became free")


def test_a_service_that_is_not_locked_overlaps_with_itself(world: Works) -> None:
    meet = threading.Barrier(2, timeout=30)

    def tick(_: Tools) -> Tick:
        meet.wait()
        return Tick()

    with world.crew([service(tick, locked=False)]) as crew:
        other = threading.Thread(target=crew.run_service, args=("sample",))
        other.start()
        crew.run_service("sample")
        other.join()
    assert result(world, "sample")[3:] == (0, 2)


def test_a_run_that_loses_its_locks_connection_ends_and_fails(world: Works) -> None:
    def tick(tools: Tools) -> Tick:
        assert not tools.stop.is_set()
        world.cut_off("reaper:lock:sample")
        wait_until(tools.stop.is_set, "the run noticed")
        return Tick({"half": 1})

    with world.crew([service(tick)]) as crew, pytest.raises(ServiceLockLost):
        crew.run_service("sample")
    figures, error, failures, _, _ = result(world, "sample")
    assert (figures, failures) == (None, 1)
    assert "lock of sample broke" in error


def test_a_run_with_more_to_do_comes_back_and_waits_once(world: Works) -> None:
    with world.crew([service(lambda _: Tick(more=True))]) as crew:
        crew.run_service("sample")
        crew.run_service("sample")
    assert world.jobs() == ["service:sample"]


def test_a_service_that_the_release_does_not_know_is_refused(crew: Crew) -> None:
    with pytest.raises(BadArgument, match="knows no service 'nope'"):
        crew.run_service("nope")


def test_a_drain_whose_time_is_over_comes_back_in_its_slot(
    world: Works, populate: Populate, crew: Crew
) -> None:
    populate(due=50, live=0, contents=50)
    replace(crew, budget=0).drain_slot(1)
    assert world.jobs() == ["drain:1"]
    assert world.value("select reaper.count_due()") == 50
    world.forget_jobs()
    crew.drain_slot(1)
    assert world.jobs() == []
    world.judge()


def test_a_paused_drain_claims_nothing_and_does_not_come_back(
    world: Works, populate: Populate, crew: Crew
) -> None:
    populate(due=50, live=0, contents=50)
    world.sql("select reaper.pause('drain', '1 hour', 'moving house')")
    crew.drain_slot(0)
    assert world.jobs() == []
    assert world.value("select reaper.count_due()") == 50
    world.sql("select reaper.resume('drain')")
    crew.drain_slot(0)
    world.judge()


def test_a_pause_ends_a_drain_before_its_next_batch(world: Works, populate: Populate) -> None:
    populate(due=200, live=0, contents=200)
    with world.app(batch_size=20) as app, app.pulse():
        crew = app.crew(1)
        crew.register()
        app.telemetry.watch(lambda _: world.sql("select reaper.pause('drain', '1 hour', 'enough')"))
        crew.drain_slot(0)
        assert 0 < world.value("select reaper.count_due()") < 200
    assert world.jobs() == []
    assert world.sql("select * from reaper.in_flight") == []


def test_a_drain_that_fails_comes_back_three_times_and_not_for_ever(world: Works) -> None:
    def tick(_: Tools) -> Tick:
        raise ReaperError("no bucket today")

    with world.crew([service(tick, "drain", locked=False)]) as crew:
        for expected in (["drain:0"], ["drain:0"], []):
            world.forget_jobs()
            with pytest.raises(ReaperError):
                crew.drain_slot(0)
            assert world.jobs() == expected


@pytest.fixture
def sees_sessions(world: Works) -> Iterator[None]:
    """Whoever owns throttle() may look at other sessions."""
    world.sql("grant pg_read_all_stats to reaper_owner")
    yield
    world.sql("revoke pg_read_all_stats from reaper_owner")


@pytest.mark.usefixtures("sees_sessions")
def test_an_old_snapshot_holds_the_drain_back_says_who_holds_it_and_lets_it_go_on(
    world: Works, populate: Populate, crew: Crew
) -> None:
    populate(due=50, live=0, contents=50)
    world.sql("update reaper.settings set max_snapshot_age = '1 millisecond'")
    reason = "(select throttled from reaper.workers)"
    with psycopg.connect(world.dsn, application_name="a long report") as reporter:
        reporter.execute("set transaction isolation level repeatable read")
        reporter.execute("select 1")
        job = threading.Thread(target=replace(crew, budget=60).drain_slot, args=(0,))
        job.start()
        world.until(f"{reason} like '%%a long report%%'")
        assert world.value("select reaper.count_due()") == 50
    job.join()
    world.judge()
    assert world.value(f"select {reason} is null")


def aged_table(world: Works, rows: int) -> None:
    world.sql("create table public.visits (id bigint primary key, at timestamptz not null)")
    world.sql("create index visits_at on public.visits (at)")
    world.sql("grant select, delete, update (at) on public.visits to reaper_owner")
    world.sql(
        "insert into public.visits select i, reaper.clock() - interval '1 day' * (i / %s) - interval '1 hour'"
        "  from generate_series(1, %s) i",
        rows,
        rows * 2,
    )
    world.sql("select reaper.add_retention_policy('visits', 'public.visits', 'at', '1 day', 10)")
    world.sql("select reaper.enable_policy('visits')")


def test_a_purge_comes_back_exactly_as_long_as_its_batches_are_full(world: Works, crew: Crew) -> None:
    aged_table(world, 20)
    world.sql("delete from visits where id > 20 and id % 20 = 0")
    old = world.value("select count(*) from visits where at < reaper.clock() - interval '1 day'")
    planned(world, crew)
    world.due("policy:visits")
    crew.tick()
    assert world.jobs() == ["policy:visits"]
    came_back = []
    for _ in range(old // 10 + 1):
        world.forget_jobs()
        crew.purge("visits")
        came_back.append(bool(world.jobs()))
    assert came_back == [True] * (old // 10) + [False]
    assert world.value("select count(*) from visits where at < reaper.clock() - interval '1 day'") == 0
    assert result(world, "policy:visits")[:2] == ({"deleted": old % 10}, None)


def test_a_purge_of_a_policy_that_is_gone_does_nothing(world: Works, crew: Crew) -> None:
    crew.purge("nobody")
    assert world.jobs() == []


def test_what_a_dba_changed_outlives_the_next_worker(world: Works) -> None:
    with world.crew():
        world.sql("select reaper.reschedule('drain', 'continuous')")
        world.sql("select reaper.disable_service('prune')")
    with world.crew():
        pass
    changed = dict(world.sql("select name, schedule from reaper.services"))
    assert (changed["drain"], changed["watchdog"]) == ("continuous", "15 seconds")
    assert world.value("select not enabled from reaper.services where name = 'prune'")
