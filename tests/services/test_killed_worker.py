"""A lone worker is killed in the middle of a drain, and started again at once."""

import time
from collections.abc import Callable

import pytest

from tests.support.worker_world import WorkerWorld


@pytest.mark.slow
def test_after_a_kill_and_a_restart_the_drain_goes_on_within_thirty_seconds(
    world: WorkerWorld, populate: Callable[..., None]
) -> None:
    populate(due=3_000, live=10, contents=500)
    world.sql("update reaper.settings set drain_slots = 1")
    pace = ("--batch-size", "20", "--rows-per-second", "100")
    victim = world.worker(*pace)
    world.started("drain")
    world.run("drain")
    world.until("reaper.count_due() < 2900")
    victim.kill()
    victim.join()
    left = world.value("select reaper.count_due()")
    killed_at = time.monotonic()
    world.worker("--batch-size", "20")
    # A batch of the dead is still marked: less than what is left of it must be due.
    world.until("reaper.count_due() < %s", left - 100)
    took = time.monotonic() - killed_at
    print(f"the drain went on after {took:.1f} s")
    assert took < 30, world.said()
