"""Slots of the drain and purges, called from here: budgets, pauses, throttles, coming back."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import psycopg
import pytest

from reaper.errors import ReaperError
from reaper.services.base import Context, Tick
from tests.support.process_faults import FaultPlan
from tests.support.sample_services import service
from tests.support.worker_world import InProcessWorker, WorkerWorld

Populate = Callable[..., None]
both_claim_modes = pytest.mark.parametrize("claim_mode", ["mark", "direct"])


def test_a_drain_whose_time_is_over_comes_back_in_its_slot(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker
) -> None:
    populate(due=50, live=0, contents=50)
    replace(in_process.runner, budget=0).drain_slot(1)
    assert world.jobs() == ["drain:1"]
    assert world.value("select reaper.count_due()") == 50
    world.forget_jobs()
    in_process.drain_slot(1)
    assert world.jobs() == []
    world.judge()


def test_a_drain_without_a_free_lane_ends_at_once_and_comes_back_later(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker
) -> None:
    populate(due=50, live=0, contents=50)
    with in_process.lanes.reserved() as free:
        assert free
        in_process.drain_slot(1)
    assert world.value("select reaper.count_due()") == 50
    assert world.sql("select queueing_lock, scheduled_at > now() from procrastinate.procrastinate_jobs") == [
        ("drain:1", True)
    ]
    world.forget_jobs()
    in_process.drain_slot(1)
    world.judge()


def test_a_paused_drain_claims_nothing_and_does_not_come_back(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker
) -> None:
    populate(due=50, live=0, contents=50)
    world.sql("select reaper.pause('drain', '1 hour', 'moving house')")
    in_process.drain_slot(0)
    assert world.jobs() == []
    assert world.value("select reaper.count_due()") == 50
    world.sql("select reaper.resume('drain')")
    in_process.drain_slot(0)
    world.judge()


@both_claim_modes
def test_a_pause_ends_a_drain_before_its_next_batch(
    world: WorkerWorld, populate: Populate, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=200, live=0, contents=200)
    with world.app(batch_size=20) as app, app.heartbeat():
        in_process = InProcessWorker(app.runner(1), app.dispatcher())
        in_process.register()
        app.telemetry.watch(lambda _: world.sql("select reaper.pause('drain', '1 hour', 'enough')"))
        in_process.drain_slot(0)
        assert 0 < world.value("select reaper.count_due()") < 200
    assert world.jobs() == []
    assert world.sql("select * from reaper.in_flight") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drain", "accounts"])
def test_a_job_that_was_queued_before_the_pause_does_not_run_and_is_due_after_it(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker, name: str
) -> None:
    populate(due=50, live=0, contents=50)
    world.planned(in_process)
    world.sql("select reaper.pause(%s, '1 hour', 'moving house')", name)
    in_process.drain_slot(0) if name == "drain" else in_process.run_service(name)
    assert world.result(name)[4] == 0, "it ran"
    assert world.value("select count(*) from reaper.sync_services()") == 0
    world.sql("select reaper.resume(%s)", name)
    assert world.value("select name from reaper.sync_services()") == name


def test_a_drain_that_a_pause_cut_short_goes_on_after_it(world: WorkerWorld, populate: Populate) -> None:
    populate(due=200, live=0, contents=200)
    with world.in_process_worker(batch_size=20) as in_process:
        world.planned(in_process)
        in_process.telemetry.watch(lambda _: world.sql("select reaper.pause('drain', '1 hour', 'enough')"))
        in_process.drain_slot(0)
        assert 0 < world.value("select reaper.count_due()") < 200
        world.sql("select reaper.resume('drain')")
        in_process.tick()
    assert world.jobs() == ["drain:0", "drain:1"]


def test_a_change_of_the_claim_mode_holds_from_the_next_drain_of_a_running_worker_on(
    world: WorkerWorld, populate: Populate
) -> None:
    passed = FaultPlan()
    with world.in_process_worker(around=passed) as in_process:
        for claim_mode, claims, reaps in (
            ("mark", True, False),
            ("direct", False, True),
            ("mark", True, False),
        ):
            populate(due=20, live=0, contents=20)
            world.set_claim_mode(claim_mode)
            passed.passed.clear()
            in_process.drain_slot(0)
            assert (bool(passed.passed["claim_expired"]), bool(passed.passed["reap_batch"])) == (
                claims,
                reaps,
            )
            world.judge()


@both_claim_modes
def test_pace_and_batch_size_are_changed_in_settings_while_a_drain_runs(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=300, live=0, contents=300)
    world.sql("update reaper.settings set batch_size = 50, rows_per_second = 1")
    job = threading.Thread(target=replace(in_process.runner, budget=60).drain_slot, args=(0,))
    job.start()
    world.until("exists (select from reaper.runs)")
    assert world.value("select reaper.count_due()") == 275, "a gentle batch, and the next in 25 s"
    world.sql("update reaper.settings set batch_size = 100, rows_per_second = null")
    job.join(20)
    assert not job.is_alive()
    assert world.value("select max(rows_deleted) from reaper.runs") == 100
    world.judge()


def test_a_pause_ends_a_drain_that_waits_for_its_pace(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker
) -> None:
    populate(due=300, live=0, contents=300)
    world.sql("update reaper.settings set rows_per_second = 1")
    job = threading.Thread(target=replace(in_process.runner, budget=60).drain_slot, args=(0,))
    job.start()
    world.until("exists (select from reaper.runs)")
    world.sql("select reaper.pause('drain', '1 hour', 'enough')")
    job.join(20)
    assert not job.is_alive()
    assert world.value("select reaper.count_due()") == 275


def test_a_drain_that_fails_comes_back_three_times_and_not_for_ever(world: WorkerWorld) -> None:
    def tick(_: Context) -> Tick:
        raise ReaperError("no bucket today")

    with world.in_process_worker([service(tick, "drain", locked=False)]) as in_process:
        for expected in (["drain:0"], ["drain:0"], []):
            world.forget_jobs()
            with pytest.raises(ReaperError):
                in_process.drain_slot(0)
            assert world.jobs() == expected


@pytest.fixture
def sees_sessions(world: WorkerWorld) -> Iterator[None]:
    """Whoever owns throttle() may look at other sessions."""
    world.sql("grant pg_read_all_stats to reaper_owner")
    yield
    world.sql("revoke pg_read_all_stats from reaper_owner")


@pytest.mark.usefixtures("sees_sessions")
def test_an_old_snapshot_holds_the_drain_back_says_who_holds_it_and_lets_it_go_on(
    world: WorkerWorld, populate: Populate, in_process: InProcessWorker
) -> None:
    populate(due=50, live=0, contents=50)
    world.sql("update reaper.settings set max_snapshot_age = '1 millisecond'")
    reason = "(select throttled from reaper.workers)"
    with psycopg.connect(world.dsn, application_name="a long report") as reporter:
        reporter.execute("set transaction isolation level repeatable read")
        reporter.execute("select 1")
        job = threading.Thread(target=replace(in_process.runner, budget=60).drain_slot, args=(0,))
        job.start()
        world.until(f"{reason} like '%%a long report%%'")
        assert world.value("select reaper.count_due()") == 50
    job.join()
    world.judge()
    assert world.value(f"select {reason} is null")


def aged_table(world: WorkerWorld, rows: int) -> None:
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


def test_a_purge_comes_back_exactly_as_long_as_its_batches_are_full(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    aged_table(world, 20)
    world.sql("delete from visits where id > 20 and id % 20 = 0")
    old = world.value("select count(*) from visits where at < reaper.clock() - interval '1 day'")
    world.planned(in_process)
    world.due("policy:visits")
    in_process.tick()
    assert world.jobs() == ["policy:visits"]
    came_back = []
    for _ in range(old // 10 + 1):
        world.forget_jobs()
        in_process.purge("visits")
        came_back.append(bool(world.jobs()))
    assert came_back == [True] * (old // 10) + [False]
    assert world.value("select count(*) from visits where at < reaper.clock() - interval '1 day'") == 0
    assert world.result("policy:visits")[:2] == ({"deleted": old % 10}, None)


def test_a_purge_of_a_policy_that_is_gone_does_nothing(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    in_process.purge("nobody")
    assert world.jobs() == []


def test_a_purge_that_was_not_run_is_no_good_run(world: WorkerWorld, in_process: InProcessWorker) -> None:
    aged_table(world, 20)
    world.planned(in_process)
    world.sql("select reaper.finish_run('policy:visits', null, 'the table was locked')")
    world.sql("select reaper.pause('policy:visits', '1 hour', 'for a test')")
    in_process.purge("visits")
    assert world.result("policy:visits")[1:3] == ("the table was locked", 1)
    assert world.jobs() == []
