"""What the jobs do, called from here: ticks, runs, locks, budgets, pauses, throttles, purges."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from reaper.db.connection import Connection
from reaper.errors import BadArgument, ServiceLockLost
from reaper.services import ALL
from reaper.services.base import Context, Tick
from tests.support.captured_logs import capture_logs
from tests.support.sample_services import service
from tests.support.waiting import wait_until
from tests.support.worker_world import InProcessWorker, WorkerWorld

Populate = Callable[..., None]
EXTENDED = "select lease_until > reaper.clock() from reaper.services where name = 'sample'"
TAKEN = """
update reaper.services set lease_token = gen_random_uuid(), lease_worker = 'another' where name = 'sample'
"""
LOCK = "pg_try_advisory_lock(1919246704, reaper.service_lock_key(%s))"


def test_the_first_tick_plans_every_service_and_starts_none(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    in_process.tick()
    assert world.jobs() == []
    assert world.value("select count(next_run_at) from reaper.services") == sum(s.enabled for s in ALL)
    assert world.value(
        "select next_run_at = date_trunc('day', reaper.clock(), 'UTC') + interval '1 day'"
        "  from reaper.services where name = 'drain'"
    )


def test_a_service_is_free_when_its_run_is_over_however_late_the_server_notices_that_the_connection_is_closed(
    world: WorkerWorld, in_process: InProcessWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that comes back at once would find the lock held, be skipped, and nobody would come back."""
    world.planned(in_process)
    left: list[Connection] = []

    def connect(slot: str) -> Connection:
        connection = in_process.connect(slot)
        left.append(connection)
        monkeypatch.setattr(connection, "close", lambda: None)
        return connection

    runner = replace(in_process.runner, connect=connect)
    with runner._lease(runner.find("watchdog")) as lease:
        assert lease.taken
        assert not world.value(f"select {LOCK}", "watchdog")
    assert world.value(f"select {LOCK}", "watchdog")
    assert world.value("select lease_token is null from reaper.services where name = 'watchdog'")
    monkeypatch.undo()
    for connection in left:
        connection.close()


def test_eight_ticks_at_once_queue_what_is_due_once(world: WorkerWorld) -> None:
    with ExitStack() as open_workers:
        workers = [open_workers.enter_context(world.in_process_worker()) for _ in range(8)]
        world.planned(workers[0])
        world.due("watchdog")
        world.due("drain")
        start = threading.Barrier(len(workers))

        def tick(in_process: InProcessWorker) -> None:
            start.wait()
            in_process.tick()

        threads = [threading.Thread(target=tick, args=(in_process,)) for in_process in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert world.jobs() == ["drain:0", "drain:1", "service:watchdog"]
    assert world.value("select count(*) from procrastinate.procrastinate_events where type = 'deferred'") == 3


def test_a_midnight_without_workers_is_made_up_for_once(world: WorkerWorld) -> None:
    world.advance_clock("1 day")
    with world.in_process_worker() as in_process:
        world.sql("update reaper.settings set drain_slots = 1")
        world.sql(
            "update reaper.settings set clock_offset = clock_offset"
            " + (date_trunc('day', reaper.clock(), 'UTC') + interval '23 hours 50 minutes' - reaper.clock())"
        )
        in_process.tick()
        assert world.jobs() == []
    world.advance_clock("40 minutes")
    with world.in_process_worker() as in_process:
        for _ in range(3):
            in_process.tick()
        assert [job for job in world.jobs() if job.startswith("drain")] == ["drain:0"]
        in_process.drain_slot(0)
        world.forget_jobs()
        in_process.tick()
    assert [job for job in world.jobs() if job.startswith("drain")] == []
    assert world.value(
        "select next_run_at - reaper.clock() between interval '23 hours' and interval '24 hours'"
        "  from reaper.services where name = 'drain'"
    )


def test_nights_that_were_missed_are_one_run(world: WorkerWorld, in_process: InProcessWorker) -> None:
    world.planned(in_process)
    world.sql(
        "update reaper.services set next_run_at = reaper.clock() - interval '9 days' where name = 'drain'"
    )
    in_process.tick()
    in_process.tick()
    assert world.jobs() == ["drain:0", "drain:1"]


def test_a_schedule_that_nobody_understands_is_reported_and_stops_no_other(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    world.planned(in_process)
    world.sql("select reaper.reschedule('prune', 'x x x x x')")
    world.due("cleanup_queue")
    in_process.tick()
    in_process.tick()
    assert world.jobs() == ["service:cleanup_queue"]
    _, error, failures, _, _ = world.result("prune")
    assert "invalid schedule 'x x x x x'" in error
    assert failures == 1
    [reason] = world.value("select reasons from reaper.health")
    assert "service prune is not planned: invalid schedule 'x x x x x'" in reason


def test_a_run_is_recorded_with_its_figures(world: WorkerWorld) -> None:
    with world.in_process_worker([service(lambda _: Tick({"things": 3}))]) as in_process:
        in_process.run_service("sample")
    assert world.result("sample") == ({"things": 3}, None, 0, 0, 1)
    assert world.jobs() == []


def test_a_failing_run_is_a_failed_run_and_the_next_good_one_clears_it(world: WorkerWorld) -> None:
    broken = [True, True, False]

    def tick(_: Context) -> Tick:
        if broken.pop(0):
            raise ZeroDivisionError("of course")
        return Tick()

    with world.in_process_worker([service(tick)]) as in_process:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                in_process.run_service("sample")
        assert world.result("sample")[1:3] == ("ZeroDivisionError: of course", 2)
        in_process.run_service("sample")
        assert world.result("sample")[1:3] == (None, 0)


def test_a_service_that_runs_elsewhere_is_skipped_in_silence_and_counted(
    world: WorkerWorld, connect: Any
) -> None:
    ran: list[int] = []

    def tick(_: Context) -> Tick:
        ran.append(1)
        return Tick()

    with world.in_process_worker([service(tick)]) as in_process:
        holder = connect()
        assert holder.execute(f"select {LOCK}", ["sample"]).fetchone() == (True,)
        with capture_logs() as logs:
            in_process.run_service("sample")
        assert (ran, logs, world.result("sample")[3:]) == ([], [], (1, 0))
        holder.close()
        wait_until(lambda: in_process.run_service("sample") or bool(ran), "the lock became free")


def test_a_service_that_is_not_locked_overlaps_with_itself(world: WorkerWorld) -> None:
    meet = threading.Barrier(2, timeout=30)

    def tick(_: Context) -> Tick:
        meet.wait()
        return Tick()

    with world.in_process_worker([service(tick, locked=False)]) as in_process:
        other = threading.Thread(target=in_process.run_service, args=("sample",))
        other.start()
        in_process.run_service("sample")
        other.join()
    assert world.result("sample")[3:] == (0, 2)


def test_a_run_that_loses_its_locks_connection_ends_and_fails(world: WorkerWorld) -> None:
    def tick(tools: Context) -> Tick:
        assert not tools.stop.is_set()
        world.cut_off("reaper:lock:sample")
        wait_until(tools.stop.is_set, "the run noticed")
        return Tick({"half": 1})

    with world.in_process_worker([service(tick)]) as in_process, pytest.raises(ServiceLockLost):
        replace(in_process.runner, lease_extended_every=0.1).run_service("sample")
    figures, error, failures, _, _ = world.result("sample")
    assert (figures, failures) == (None, 1)
    assert "lease of service sample lost" in error


def test_a_run_that_loses_its_lease_ends_and_records_nothing(world: WorkerWorld) -> None:
    """The record is that of the worker that has the lease now."""

    def tick(tools: Context) -> Tick:
        world.sql(TAKEN)
        wait_until(tools.stop.is_set, "the run noticed")
        return Tick({"half": 1})

    with world.in_process_worker([service(tick)]) as in_process, pytest.raises(ServiceLockLost):
        replace(in_process.runner, lease_extended_every=0.1).run_service("sample")
    assert world.result("sample") == (None, None, 0, 0, 0)
    assert world.value("select lease_worker from reaper.services where name = 'sample'") == "another"


def test_a_run_that_takes_longer_than_a_lease_keeps_it(world: WorkerWorld) -> None:
    def tick(tools: Context) -> Tick:
        for _ in range(3):
            world.advance_clock("10 seconds")
            world.sql("update reaper.services set lease_until = reaper.clock() where name = 'sample'")
            wait_until(lambda: world.value(EXTENDED), "the lease was extended")
        return Tick({"long": int(not tools.stop.is_set())})

    with world.in_process_worker([service(tick)]) as in_process:
        replace(in_process.runner, lease_extended_every=0.05).run_service("sample")
    assert world.result("sample") == ({"long": 1}, None, 0, 0, 1)


def test_a_lock_that_a_stranger_holds_stops_no_service_and_the_verdict_names_the_session(
    world: WorkerWorld, stranger: Any
) -> None:
    with world.in_process_worker([service(lambda _: Tick({"things": 1}))]) as in_process:
        for key in range(-2, 300):
            stranger.execute("select pg_advisory_lock(1919246704, %s)", [key])
        in_process.run_service("sample")
        assert world.result("sample") == ({"things": 1}, None, 0, 0, 1)
        [(verdict, reasons)] = world.sql("select verdict, reasons from reaper.health")
        pid = stranger.info.backend_pid
        assert verdict == "attention"
        assert f"session {pid} (stranger)" in reasons[0]
        assert f"select pg_terminate_backend({pid});" in reasons[0]
        stranger.close()
        wait_until(lambda: world.value("select verdict from reaper.health") == "ok", "the session is gone")


def test_a_run_with_more_to_do_comes_back_and_waits_once(world: WorkerWorld) -> None:
    with world.in_process_worker([service(lambda _: Tick(more=True))]) as in_process:
        in_process.run_service("sample")
        in_process.run_service("sample")
    assert world.jobs() == ["service:sample"]


def test_a_service_that_the_release_does_not_know_is_refused(in_process: InProcessWorker) -> None:
    with pytest.raises(BadArgument, match="unknown service 'nope'"):
        in_process.run_service("nope")


def test_what_a_dba_changed_outlives_the_next_worker(world: WorkerWorld) -> None:
    with world.in_process_worker():
        world.sql("select reaper.reschedule('drain', 'continuous')")
        world.sql("select reaper.disable_service('prune')")
    with world.in_process_worker():
        pass
    changed = dict(world.sql("select name, schedule from reaper.services"))
    assert (changed["drain"], changed["watchdog"]) == ("continuous", "15 seconds")
    assert world.value("select not enabled from reaper.services where name = 'prune'")


def test_a_service_of_a_newer_release_stays_in_the_schedule(world: WorkerWorld) -> None:
    world.sql("select reaper.register_service('of a newer release', '1 minute', 'for a test')")
    with world.in_process_worker():
        pass
    names = {row[0] for row in world.sql("select name from reaper.services")}
    assert names == {service.name for service in ALL} | {"of a newer release"}
