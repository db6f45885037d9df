"""The service that makes pastes due by lifecycle rules."""

from collections.abc import Callable

from reaper.services import lifecycle
from tests.support.worker_world import InProcessWorker, WorkerWorld

RULE = "select reaper.add_lifecycle_rule(%s, %s, p_expiration_days => 30, p_enabled => true)"
IDLE = {"looked_at": 0, "expired": 0, "skipped": 0, "refused": 0}


def test_rules_are_applied_page_by_page_and_one_that_fails_stops_no_other(
    world: WorkerWorld, in_process: InProcessWorker, populate: Callable[..., None]
) -> None:
    in_process.run_service("lifecycle")
    assert world.result("lifecycle")[0] == IDLE
    populate(due=0, live=2500, contents=25_000, cached=True)
    world.sql("create index on pastes (created_at, short_code)")
    world.sql("update pastes set created_at = now() - interval '40 days'")
    world.sql(RULE, "a", "live0000")
    world.sql(RULE, "b", "live001")
    lifecycle_page = lifecycle.AT_ONCE
    in_process.run_service("lifecycle")
    assert lifecycle_page == 1000
    assert world.result("lifecycle")[0] == {"looked_at": 5000, "expired": 1099, "skipped": 0, "refused": 0}
    in_process.drain_slot(0)
    assert world.value("select count(*) from pastes") == 2500 - 1099
    in_process.run_service("invalidations")
    world.judge()
