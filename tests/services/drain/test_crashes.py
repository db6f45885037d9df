"""A drain is killed or stopped among its batches; the watchdog and the next drain put it right."""

import signal
from collections.abc import Callable

import pytest

from tests.support.forked_processes import continued, ended, send, stopped
from tests.support.world import World

POINTS = [
    ("mark", "after claim_expired"),
    ("mark", "after drop_batch"),
    ("mark", "after cache.forget"),
    ("mark", "after objects.delete"),
    ("mark", "before finish_batch"),
    ("direct", "after reap_batch"),
    ("direct", "after objects.delete"),
    ("direct", "before finish_batch"),
]
DUE = 1_000


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("claim_mode", "point"), POINTS)
def test_what_a_killed_drain_left_is_finished_by_watchdog_and_next_drain(
    world: World, populate: Callable[..., None], claim_mode: str, point: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=DUE, live=500, contents=700)
    assert ended(world.killed_drain(point, nth=3)) == -signal.SIGKILL
    assert world.sql("select * from reaper.check_invariants()") == []
    assert world.sql("select * from reaper.in_flight") != []

    world.outlive()
    world.drain()
    world.judge()
    assert world.value("select sum(rows_deleted) from reaper.runs") == DUE


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("claim_mode", "point"), POINTS)
def test_a_stopped_drain_is_fenced_when_it_wakes_and_goes_on_with_its_next_batch(
    world: World, populate: Callable[..., None], claim_mode: str, point: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=DUE, live=500, contents=700)
    zombie = world.stopped_drain(point, nth=2)
    stopped(zombie)
    world.outlive()
    world.drain(max_batches=2, batch_size=100)
    refused = world.value("select refusals from reaper.health")

    continued(zombie)
    assert ended(zombie) == 0
    assert world.value("select refusals from reaper.health") > refused
    world.drain()
    world.judge()
    assert world.value("select sum(rows_deleted) from reaper.runs") == DUE


@pytest.mark.parametrize(("claim_mode", "number"), [("mark", signal.SIGINT), ("direct", signal.SIGTERM)])
def test_a_signal_stops_a_drain_between_batches_and_leaves_nothing_in_flight(
    world: World, populate: Callable[..., None], claim_mode: str, number: signal.Signals
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=3_000, live=0, contents=3_000)
    drain = world.drain_process(batch_size=10)
    while world.value("select count(*) from reaper.runs") == 0:
        assert drain.exitcode is None
    send(drain, number)
    assert ended(drain) == 0
    assert world.sql("select * from reaper.in_flight") == []
    assert world.sql("select * from reaper.workers") == []
    assert world.value("select reaper.count_due()") > 0
    world.drain()
    world.judge()


def test_a_killed_direct_drain_leaves_no_row_marked(world: World, populate: Callable[..., None]) -> None:
    """What was not released is due as before: the next drain needs no watchdog for it."""
    world.set_claim_mode("direct")
    populate(due=DUE, live=500, contents=700)
    assert ended(world.killed_drain("before reap_batch", nth=3)) == -signal.SIGKILL
    assert world.value("select count(*) from pastes where deletion_status = 'DELETION_IN_PROGRESS'") == 0
    assert world.value("select reaper.count_due()") == DUE - 200
    world.drain()
    assert world.value("select reaper.count_due()") == 0
