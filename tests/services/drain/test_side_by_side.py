"""Many drains on one backlog."""

from collections.abc import Callable
from types import SimpleNamespace

import psycopg
import pytest

from reaper.expiry import lane
from tests.support.forked_processes import ended
from tests.support.waiting import wait_until
from tests.support.world import World


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_eight_processes_share_a_backlog_and_leave_exactly_what_lives(
    world: World, populate: Callable[..., None], sized: Callable[[int, int], int], claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    half = sized(50_000, 5_000)
    populate(due=half, live=half, contents=half * 7 // 10, hot=half // 10)
    drains = [world.drain_process(batch_size=half // 50) for _ in range(8)]
    assert [ended(drain) for drain in drains] == [0] * 8
    world.judge()
    assert world.value("select sum(rows_deleted) from reaper.runs") == half
    assert world.value("select count(*) from pastes") == half
    assert world.value("select count(distinct worker) from reaper.runs") > 1


@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_a_row_that_somebody_holds_for_a_moment_is_looked_at_again(
    world: World, populate: Callable[..., None], monkeypatch: pytest.MonkeyPatch, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=50, live=10, contents=35)
    [(batch,)] = world.sql("select batch_id from reaper.claim_expired(20, 'another')")
    with psycopg.connect(world.dsn) as holder:
        holder.execute("select from pastes where deletion_status = 'DELETION_IN_PROGRESS' limit 1 for update")
        world.sql("select from reaper.drop_references(%s)", batch)
        world.sql("select reaper.retire_worker('another')")
        monkeypatch.setattr(lane, "time", SimpleNamespace(sleep=lambda _: holder.rollback()))
        world.drain(batch_size=20)
    assert world.value("select reaper.count_due()") == 0
    assert world.value("select reaper.count_ownerless_rows()") == 0
    world.judge()


def test_a_drain_by_sql_alone_leaves_its_side_effects_to_the_next_worker(
    world: World, populate: Callable[..., None]
) -> None:
    populate(due=500, live=500, contents=350)
    before = world.keys()
    world.sql("call reaper.drain()")
    assert world.keys() == before
    world.drain()
    world.judge()


@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_max_batches_is_shared_by_all_workers(
    world: World, populate: Callable[..., None], claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=500, live=0, contents=500)
    world.drain(workers=2, max_batches=3, batch_size=100)
    assert world.value("select reaper.count_due()") == 200
    world.drain(workers=2)
    world.judge()


def test_the_command_drains_and_says_what_it_did(world: World, populate: Callable[..., None]) -> None:
    populate(due=50, live=50, contents=35)
    before = world.keys()
    rehearsal = world.command("drain", "--dry-run")
    assert (rehearsal.returncode, world.keys()) == (0, before), rehearsal.stderr
    done = world.command("drain", "--batch-size", "20")
    assert done.returncode == 0, done.stderr
    assert "50 pastes deleted in 3 batches" in done.stdout
    world.judge()


def test_drains_of_both_kinds_share_a_backlog(world: World, populate: Callable[..., None]) -> None:
    """The setting changes while some of them run, and each goes on in its way to its end."""
    populate(due=2_000, live=500, contents=1_200, hot=100)
    drains = []
    for claim_mode in ("mark", "direct") * 2:
        world.set_claim_mode(claim_mode)
        drains.append(world.drain_process(batch_size=50))
        wait_until(
            lambda: world.value("select count(*) from reaper.workers") >= len(drains) or not busy(world)
        )
    assert [ended(drain) for drain in drains] == [0] * 4
    world.drain()
    world.judge()
    assert world.value("select sum(rows_deleted) from reaper.runs") == 2_000


def busy(world: World) -> bool:
    return bool(world.value("select reaper.count_due()"))
