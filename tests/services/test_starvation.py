"""Many slow drain jobs beside services that must keep their schedule."""

from collections.abc import Callable

import pytest

from tests.support.worker_world import WorkerWorld

KEPT = ("watchdog", "job_rescue")
RUNS = "(select min(runs) from reaper.services where name = any (%s)) >= %s"
DRAINING = "reaper.count_due() > 0"


@pytest.mark.slow
def test_sixteen_slow_drain_jobs_on_two_slots_leave_watchdog_and_rescue_their_schedule(
    world: WorkerWorld, populate: Callable[..., None]
) -> None:
    populate(due=3_000, live=10, contents=500)
    world.sql("update reaper.settings set drain_slots = 16")
    world.worker("--slots", "2", "--rows-per-second", "60")
    world.started("drain")
    for name in KEPT:
        world.sql("select reaper.reschedule(%s, '5 seconds', 'for a test')", name)
    before = world.value("select max(runs) from reaper.services where name = any (%s)", list(KEPT))
    world.run("drain")
    began = world.value("select clock_timestamp()")
    world.until(f"{RUNS} or not {DRAINING}", list(KEPT), before + 4)
    took = world.value("select extract(epoch from clock_timestamp() - %s::timestamptz)", began)
    print(f"four runs each, 5 s apart, took {took:.1f} s")
    # By then the drain, of 50 seconds, is not over; before, both waited for its end.
    assert world.value(f"select {DRAINING}")
    assert took < 2 * 4 * 5 + 5
