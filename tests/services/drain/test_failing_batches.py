"""A claim, drop or finish that fails leaves nothing with the living worker."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import psycopg
import pytest

from reaper.errors import ReaperError
from tests.support.waiting import wait_until
from tests.support.worker_world import WorkerWorld

# How PostgreSQL refuses, at which of its tables: the write of a claim, of a drop, of a finish.
FAULT = """
create function public.refuse() returns trigger language plpgsql as $$ begin
    raise exception 'refused for a test' using errcode = '{sqlstate}';
end $$;
create trigger refuse {moment} for each row {condition} execute function public.refuse();
"""
MOMENTS = {
    "claim": ("before insert on reaper.batches", ""),
    "drop": ("before update on reaper.batches", "when (new.state = 'RELEASED' and old.state = 'CLAIMED')"),
    "finish": ("before insert on reaper.runs", ""),
    # A claim that is released at once.
    "reap": ("before insert on reaper.batches", "when (new.state = 'RELEASED')"),
}
STATES = {
    "cancel or timeout": "57014",
    "disk full": "53100",
    "permission": "42501",
    "serialization": "40001",
    "lock": "55P03",
}
CANCEL = """
select count(*) from (select pg_cancel_backend(pid) from pg_stat_activity
                       where datname = current_database() and application_name like 'reaper:drain:%'
                         and wait_event_type = 'Lock') as c
"""
HELD = "select count(*) from reaper.batches where worker is not null"
MARKED = "select count(*) from public.pastes where deletion_status = 'DELETION_IN_PROGRESS'"


@contextmanager
def refusing(world: WorkerWorld, moment: str, sqlstate: str) -> Iterator[None]:
    when, condition = MOMENTS[moment]
    world.sql(FAULT.format(sqlstate=sqlstate, moment=when, condition=condition))
    yield
    world.sql("drop function public.refuse() cascade")


def settled(world: WorkerWorld) -> None:
    """The next runs, with the clock where it is, do the rest."""
    with world.in_process_worker() as in_process:
        in_process.run_service("watchdog")
        in_process.drain_slot(0)
    assert world.value("select count(*) from reaper.batches") == 0
    assert world.value("select count(*) from public.pastes") == 5
    world.judge()


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("sqlstate", STATES.values(), ids=STATES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_what_failed_is_back_or_adopted_at_once(world: WorkerWorld, moment: str, sqlstate: str) -> None:
    world.set_claim_mode("direct" if moment == "reap" else "mark")
    world.populate(due=20, live=5, contents=20)
    with world.in_process_worker() as in_process:
        with refusing(world, moment, sqlstate), suppress(ReaperError):
            in_process.drain_slot(0)
        assert (world.value(HELD), world.value(MARKED)) == (0, 0)
        in_process.run_service("watchdog")
        in_process.drain_slot(0)
    settled(world)


@pytest.mark.slow
def test_a_finish_that_meets_a_lock_on_the_runs_is_adopted(world: WorkerWorld) -> None:
    world.populate(due=20, live=5, contents=20)
    with world.in_process_worker() as in_process:
        with psycopg.connect(world.dsn) as holder:
            holder.execute("lock table reaper.runs in access exclusive mode")
            with pytest.raises(ReaperError):
                in_process.drain_slot(0)
        assert world.value(HELD) == 0
    settled(world)


@pytest.mark.parametrize("sqlstate", [STATES["cancel or timeout"], STATES["disk full"]])
def test_a_reap_that_fails_for_another_reason_than_a_lock_ends_the_drain_with_it(
    world: WorkerWorld, sqlstate: str
) -> None:
    world.set_claim_mode("direct")
    world.populate(due=20, live=5, contents=20)
    with refusing(world, "reap", sqlstate), pytest.raises(ReaperError, match="refused for a test"):
        world.drain()
    settled(world)


@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_a_release_that_an_operator_cancels_is_back_at_once(world: WorkerWorld, claim_mode: str) -> None:
    world.set_claim_mode(claim_mode)
    world.populate(due=20, live=5, contents=20)
    with world.in_process_worker() as in_process, psycopg.connect(world.dsn) as holder:
        holder.execute("select from content for update")
        with ThreadPoolExecutor(1) as thread:
            drain = thread.submit(in_process.drain_slot, 0)
            wait_until(lambda: world.value(CANCEL) > 0, "the release waited and was cancelled")
            with pytest.raises(ReaperError, match="canceling statement"):
                drain.result()
        assert (world.value(HELD), world.value(MARKED)) == (0, 0)
    settled(world)


def test_what_could_not_be_returned_is_returned_by_a_later_heartbeat(world: WorkerWorld) -> None:
    world.populate(due=20, live=5, contents=20)
    with world.app() as app, app.heartbeat(every=0.05):
        lane = app.lane(app.session("drain:0"), app.stop)
        world.sql(
            FAULT.format(sqlstate="53100", moment="before update or delete on reaper.batches", condition="")
        )
        with pytest.raises(ReaperError, match="refused for a test"):
            lane.run()
        assert world.value(HELD) == 1
        assert len(app.held.given_up()) == 1
        world.sql("drop function public.refuse() cascade")
        wait_until(lambda: world.value(HELD) == 0, "the heartbeat returned the batch")
        wait_until(lambda: not app.held.given_up(), "the process knows")
        assert world.value(MARKED) == 0
    settled(world)


@pytest.mark.slow
def test_a_drain_says_what_it_leaves_behind_and_why(world: WorkerWorld) -> None:
    world.populate(due=20, live=5, contents=20)
    with refusing(world, "drop", "55P03"):
        done = world.command("drain")
        assert done.returncode == 1, done.stderr
        assert "0 pastes deleted" in done.stdout
        assert "20 due pastes left behind, held by no worker: refused for a test" in done.stdout
        as_json = world.command("drain", "--json")
        assert (as_json.returncode, '"rows_left": 20' in as_json.stdout) == (1, True)
    assert world.command("drain").returncode == 0
    world.judge()


@pytest.mark.slow
def test_a_direct_drain_says_what_other_sessions_hold(world: WorkerWorld) -> None:
    world.set_claim_mode("direct")
    world.populate(due=20, live=5, contents=20)
    with psycopg.connect(world.dsn) as holder:
        held = holder.execute(
            "select short_code from pastes order by expires_at, short_code limit 2 for update"
        ).fetchall()
        done = world.command("drain", "--batch-size", "10")
        assert done.returncode == 1, done.stderr
        assert "18 pastes deleted" in done.stdout
        because = f"due pastes are locked by other sessions: {held[0][0]}, {held[1][0]}"
        assert f"2 due pastes left behind, held by no worker: {because}" in done.stdout
        as_json = json.loads(world.command("drain", "--json").stdout)
        assert (as_json["rows_left"], as_json["rows_deleted"]) == (2, 0)
        assert as_json["left_because"].startswith(because)
        assert world.value(MARKED) == 0
    assert world.command("drain").returncode == 0
    world.judge()
