"""What cannot be deleted: tried again, given up with its cause, and delivered when the cause is gone."""

from dataclasses import replace

import pytest

from tests.support.s3_double.server import FaultRates, RandomFaults
from tests.support.worker_world import InProcessWorker, WorkerWorld

CONTENT = """
insert into content (content_hash, object_key, ref_count, size_bytes)
select 'hash ' || i, case when mod(i, 10) = 0 then 'locked/' else 'free/' end || i, 1, 10
  from generate_series(1, %s) as i
"""
PASTES = """
insert into pastes (short_code, content_hash, expires_at)
select 'paste ' || i, 'hash ' || i, reaper.clock() - interval '1 hour' from generate_series(1, %s) as i
"""
DEAD = "select cause, count(*), sum(size_bytes)::int from reaper.dlq group by 1"
ORPHANS = "select orphan_bytes from reaper.backends where name = 'default'"


@pytest.fixture
def denied(world: WorkerWorld) -> WorkerWorld:
    """A thousand pastes that are due; what lies under locked/ may not be deleted."""
    world.sql(CONTENT, 1_000)
    world.sql(PASTES, 1_000)
    world.put([row[0] for row in world.sql("select object_key from content")])
    world.s3.random_faults = RandomFaults(FaultRates(denied=lambda key: key.startswith("locked/")))
    return world


def test_of_1000_keys_100_are_denied_and_exactly_these_wait_for_an_operator(denied: WorkerWorld) -> None:
    totals = denied.drain(batch_size=250).telemetry.totals
    assert (totals.objects_deleted, totals.objects_failed) == (900, 100)
    assert len(denied.keys()) == 100
    assert denied.sql(DEAD) == [("AccessDenied", 100, 1_000)]
    assert denied.value(ORPHANS) == 1_000
    assert denied.value("select count(*) from reaper.cleanup_queue") == 0
    assert denied.sql("select state from reaper.circuits where state <> 'closed'") == []

    with denied.in_process_worker() as in_process:
        assert denied.command("dlq", "retry", "--cause", "AccessDenied", "--yes").returncode == 0
        in_process.run_service("cleanup_queue")
        assert denied.sql(DEAD) == [("AccessDenied", 100, 1_000)]

        denied.s3.random_faults = None
        assert denied.command("dlq", "retry", "--cause", "AccessDenied", "--yes").returncode == 0
        in_process.run_service("cleanup_queue")
        assert denied.result("cleanup_queue")[0] == {"deleted": 100, "failed": 0}
    assert denied.value("select count(*) from reaper.dlq") == 0
    assert denied.value(ORPHANS) == 0
    denied.judge()


def test_cache_entries_that_are_owed_are_dropped_by_a_service_of_their_own(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    world.cache().set("paste:early", "cached")
    world.sql(
        "insert into reaper.invalidations (short_code, queued_at, next_attempt)"
        " values ('early', reaper.clock(), reaper.clock())"
    )
    in_process.run_service("cleanup_queue")
    assert world.cached() == {"early"}
    in_process.run_service("invalidations")
    assert world.result("invalidations")[0] == {"dropped": 1, "failed": 0}
    assert world.cached() == set()


def test_a_pass_that_is_out_of_time_comes_back(world: WorkerWorld) -> None:
    world.sql(CONTENT, 10)
    world.sql(PASTES, 10)
    world.sql("call reaper.drain()")
    with world.in_process_worker() as in_process:
        world.sql("select reaper.finish_batch(batch_id) from reaper.batches")
        replace(in_process.runner, budget=0).run_service("cleanup_queue")
        assert (world.result("cleanup_queue")[0], world.jobs()) == (
            {"deleted": 0, "failed": 0},
            ["service:cleanup_queue"],
        )
