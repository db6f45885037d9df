"""Worker processes: what they do together, and how they end."""

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess

import pytest
from psycopg.conninfo import make_conninfo

from reaper.worker.options import WorkerOptions
from tests.support.forked_processes import terminated
from tests.support.ports import free_port
from tests.support.sample_services import ALONE, CHAIN, INSIDE, LINKS, MARKS, ONCE
from tests.support.waiting import wait_until
from tests.support.worker_world import WorkerWorld

Populate = Callable[..., None]
SILENT = "update procrastinate_workers set last_heartbeat = now() - interval '3 minutes' where id = %s"
NO_HEARTBEAT = """
update reaper.workers set beat_at = beat_at - interval '1 hour' where split_part(worker, ':', 2) = %s
"""
TAKERS = "select id from procrastinate.procrastinate_workers"


# Not only who holds a batch at the moment of the look: on a fast machine these come and go between two looks.
# And who comes late may find that the others have done it all.
WHO_DRAINS = "select worker from reaper.batches union select worker from reaper.runs"
SHARED = f"(select count(*) from ({WHO_DRAINS}) as w) >= 2"


def test_a_worker_registers_the_services_runs_what_is_due_and_ends_when_asked(
    world: WorkerWorld, populate: Populate
) -> None:
    populate(due=300, live=10, contents=100)
    worker = world.worker()
    world.started("drain")
    world.run("drain")
    world.until("reaper.count_due() = 0 and not exists (select from reaper.in_flight)")
    world.until("exists (select from reaper.schedule where name = 'drain' and last_finished_at is not null)")
    assert terminated(worker) == 0
    world.judge()
    assert world.jobs("doing") == []
    assert world.value("select count(*) from reaper.workers") == 0


@pytest.mark.slow
def test_with_three_workers_what_is_due_runs_once(world: WorkerWorld) -> None:
    world.sql(MARKS)
    for _ in range(3):
        world.serving([ONCE])
    world.started("once", 3)
    for expected in (1, 2):
        world.due("once")
        world.until("(select runs from reaper.services where name = 'once') = %s", expected)
    assert world.value("select count(*) from marks") == 2


def hired(world: WorkerWorld, slots: int) -> tuple[ForkServerProcess, int]:
    """A worker that drains small batches slowly, and the number under which it takes jobs."""
    before = {row[0] for row in world.sql(TAKERS)}
    process = world.worker("--batch-size", "25", "--rows-per-second", "500", "--slots", str(slots))
    world.until("exists (select from procrastinate.procrastinate_workers where id <> all (%s))", list(before))
    [number] = {row[0] for row in world.sql(TAKERS)} - before
    return process, number


def watchdog_left_nothing(world: WorkerWorld) -> bool:
    """Let it look once more; whether nothing was in flight before."""
    world.run("watchdog")
    return world.sql("table reaper.in_flight") == []


def test_workers_share_a_drain_and_go_on_when_each_of_three_is_killed_in_turn(
    world: WorkerWorld, populate: Populate, sized: Callable[[int, int], int]
) -> None:
    populate(due=sized(100_000, 6_000), live=100, contents=3_000)
    world.sql("update reaper.settings set drain_slots = 3, worker_silence = '5 seconds'")
    workers = [hired(world, 1) for _ in range(3)]
    world.started("drain", 3)
    # What a dead worker held comes back when the others may have gone home: somebody has to look again.
    world.sql("select reaper.reschedule('drain', 'continuous', 'for a test')")
    world.run("drain")
    world.until(SHARED)
    for victim, number in workers:
        left = world.value("select reaper.count_due()")
        hired(world, 2)
        victim.kill()
        world.until("reaper.count_due() < %s or %s = 0", left, left)
        # What a silence of two minutes would bring about.
        world.queue_sql(SILENT, number)
        world.sql(NO_HEARTBEAT, str(victim.pid))
        world.sql("select * from reaper.rescue_jobs()")
        world.run("watchdog")
    world.until("reaper.count_due() = 0")
    # What the dead held is adopted when the watchdog looks after their last heartbeat is too old.
    wait_until(lambda: watchdog_left_nothing(world), "the watchdog left nothing in flight", pause=0.1)
    world.judge()
    assert all(terminated(process) == 0 for process in world.processes if process.is_alive())
    world.queue_sql("update procrastinate_workers set last_heartbeat = now() - interval '3 minutes'")
    world.sql("select * from reaper.rescue_jobs()")
    assert world.jobs("doing") == []


def test_a_hundred_requeues_take_seconds_with_ten_jobs_at_a_time(world: WorkerWorld) -> None:
    world.sql(MARKS)
    world.serving([CHAIN], WorkerOptions(jobs=10))
    world.started("chain")
    world.run("chain")
    try:
        world.until("(select count(*) from marks) = %s", LINKS)
    finally:
        # Whether hops were slow or the chain broke is seen here only.
        print(world.sql("select count(*), min(at), max(at) from marks"), world.sql("table reaper.jobs"))
        print(world.sql("select runs, skipped, last_error from reaper.services where name = 'chain'"))
    # By polling it would take 100 seconds at least: this is not about speed, but about how a hop is noticed.
    assert world.value("select extract(epoch from max(at) - min(at)) < 90 from marks")


def test_tick_requeue_and_run_now_at_once_never_overlap_nor_pile_up(
    world: WorkerWorld, sized: Callable[[int, int], int]
) -> None:
    world.sql(MARKS)
    world.sql(INSIDE)
    for _ in range(3):
        world.serving([ALONE], WorkerOptions(jobs=5))
    world.started("alone", 3)
    over = threading.Event()
    piled_up: list[int] = []

    def watch() -> None:
        waiting = "select count(*) from reaper.jobs where lock = 'service:alone' and status = 'todo'"
        while not over.is_set():
            world.due("alone")
            world.sql("select reaper.run_now('alone', 'impatient')")
            world.sql("select reaper.enqueue_job('reaper:service', 'service:alone', '{\"name\": \"alone\"}')")
            piled_up.append(world.value(waiting))

    watcher = threading.Thread(target=watch)
    watcher.start()
    world.until("(select count(*) from marks) >= %s", sized(200, 50))
    over.set()
    watcher.join()
    assert max(piled_up) == 1
    assert world.value("select skipped > 0 and last_error is null from reaper.services where name = 'alone'")
    assert world.value("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert world.jobs("failed") == []


def test_a_job_for_a_service_that_nobody_knows_fails_with_its_reason_and_the_worker_goes_on(
    world: WorkerWorld,
) -> None:
    world.sql(MARKS)
    worker = world.serving([ONCE])
    world.started("once")
    world.sql("select reaper.enqueue_job('reaper:service', 'service:nope', '{\"name\": \"nope\"}')")
    world.until("exists (select from reaper.jobs where lock = 'service:nope' and status = 'failed')")
    assert "unknown service 'nope'" in world.value(
        "select last_error from reaper.jobs where lock = 'service:nope'"
    )
    world.run("once")
    world.until("exists (select from marks)")
    assert terminated(worker) == 0


def test_a_worker_says_that_it_lives_and_is_ready_and_what_it_did(world: WorkerWorld) -> None:
    port = free_port()

    def get(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except urllib.error.URLError:
            return 0, ""

    worker = world.worker("--health-port", str(port))
    wait_until(lambda: get("/ready") == (200, "ok\n"), "ready")
    assert get("/live") == (200, "ok\n")
    assert get("/else")[0] == 404
    wait_until(
        lambda: 'reaper_job_seconds_count{task="reaper:tick"}' in get("/metrics")[1], "a tick was measured"
    )
    wait_until(lambda: "reaper_workers_alive 1.0" in get("/metrics")[1], "the state was shown")
    assert terminated(worker) == 0


def test_a_worker_in_the_middle_of_a_drain_ends_within_its_grace_and_another_goes_on(
    world: WorkerWorld, populate: Populate
) -> None:
    populate(due=5_000, live=0, contents=1_000)
    world.sql("update reaper.settings set drain_slots = 1")
    first = world.worker("--batch-size", "50")
    world.started("drain")
    world.run("drain")
    world.until("reaper.count_due() < 4900")
    assert terminated(first) == 0
    assert world.value("select reaper.count_due()") > 0
    assert "drain:0" in world.jobs()
    world.worker()
    world.until("reaper.count_due() = 0 and not exists (select from reaper.in_flight)")
    world.judge()


def test_the_role_of_a_worker_is_all_that_a_worker_needs(world: WorkerWorld, populate: Populate) -> None:
    populate(due=200, live=10, contents=100)
    world.sql("create role just_a_worker login in role reaper_worker")
    owners_dsn, world.dsn = world.dsn, make_conninfo(world.dsn, user="just_a_worker")
    worker = world.worker()
    world.dsn = owners_dsn
    try:
        world.started("drain")
        world.sql("update reaper.services set enabled = true, next_run_at = reaper.clock()")
        world.tick()
        world.until("(select bool_and(runs > 0) from reaper.services)")
        assert terminated(worker) == 0
        assert world.sql("select name, last_error from reaper.schedule where last_error is not null") == []
        assert world.jobs("failed") == []
        world.judge()
    finally:
        world.end()
        world.sql("drop role just_a_worker")
