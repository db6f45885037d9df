"""Two backends, one of them away: the other never notices, nothing is lost, and all heals by itself."""

from dataclasses import replace
from typing import Any

import pytest

from reaper.errors import ConfigError, Unreachable
from tests.support.captured_logs import capture_logs
from tests.support.forked_processes import terminated
from tests.support.two_backends import TwoBackends
from tests.support.worker_world import InProcessWorker

OPEN_IT = 5


def queue(pair: TwoBackends) -> dict[str, Any]:
    """How many rows each backend has in the cleanup queue, and the most that any was charged."""
    rows = pair.sql(
        "select backend, count(*), max(attempts), min(outages) from reaper.cleanup_queue group by 1"
    )
    return {backend: figures for backend, *figures in rows}


def heal(pair: TwoBackends, in_process: InProcessWorker) -> None:
    """The backend is back, its pause is over, and the watchdog looks."""
    pair.mend("cold")
    pair.advance_clock("15 minutes")
    in_process.run_service("breaker_watchdog")


def test_a_drain_is_done_with_the_healthy_backend_and_owes_the_other(pair: TwoBackends) -> None:
    pair.fill("default", 300)
    pair.fill("cold", 300)
    pair.advance_clock("2 hours")
    pair.cut("cold")
    totals = pair.drain(batch_size=50).telemetry.totals
    assert (totals.rows_deleted, totals.objects_deleted, totals.objects_failed) == (600, 300, 300)
    assert (pair.keys("default"), len(pair.keys("cold"))) == (set(), 300)
    assert queue(pair) == {"cold": [300, 0, 1]}
    assert (pair.circuit("default"), pair.circuit("cold")) == ("closed", "open")
    assert pair.sql("select * from reaper.check_invariants()") == []


def test_after_five_failures_a_backend_is_not_asked_any_more_until_a_probe_succeeds(
    pair: TwoBackends,
) -> None:
    pair.fill("cold", 300)
    pair.advance_clock("2 hours")
    pair.cut("cold")
    with pair.in_process_worker(batch_size=10) as in_process:
        in_process.drain_slot(0)
        failures = in_process.telemetry.registry.get_sample_value(
            "reaper_backend_failures_total", {"backend": "cold"}
        )
        assert failures == OPEN_IT
        pair.mend("cold")
        in_process.run_service("cleanup_queue")
        assert pair.result("cleanup_queue")[0] == {"deleted": 0, "failed": 0}
        in_process.run_service("breaker_watchdog")
        assert pair.result("breaker_watchdog")[0] == {"reset": 0, "probed": 0, "closed": 0}
        heal(pair, in_process)
        assert pair.result("breaker_watchdog")[0] == {"reset": 0, "probed": 1, "closed": 1}
        in_process.run_service("cleanup_queue")
        assert pair.result("cleanup_queue")[0] == {"deleted": 300, "failed": 0}
    pair.judge()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("circuit_failures", [1, 1000], ids=["with a circuit", "without"])
def test_an_outage_of_72_hours_costs_no_attempt_and_ends_within_one_pass(
    pair: TwoBackends, circuit_failures: int
) -> None:
    pair.sql("update reaper.settings set circuit_failures = %s", circuit_failures)
    pair.fill("cold", 200)
    pair.cut("cold")
    with pair.in_process_worker() as in_process:
        for number in range(18):
            pair.fill("default", 20, f"hour {4 * number}")
            pair.advance_clock("4 hours")
            in_process.drain_slot(0)
            in_process.run_service("breaker_watchdog")
            in_process.run_service("cleanup_queue")
            assert pair.keys("default") == set()
        assert queue(pair)["cold"][:2] == [200, 0]
        assert pair.value("select count(*) from reaper.dlq") == 0
        heal(pair, in_process)
        in_process.run_service("cleanup_queue")
        assert pair.result("cleanup_queue")[0] == {"deleted": 200, "failed": 0}
    pair.judge()


def owing(pair: TwoBackends, in_process: InProcessWorker, count: int) -> None:
    """So many objects are owed to a backend that is away, and the queue has just been tried."""
    pair.fill("cold", count)
    pair.advance_clock("2 hours")
    pair.cut("cold")
    in_process.drain_slot(0)
    pair.advance_clock("5 minutes")
    in_process.run_service("cleanup_queue")


def test_what_fails_in_a_pass_is_not_met_again_by_it(pair: TwoBackends) -> None:
    with pair.in_process_worker() as in_process:
        owing(pair, in_process, 50)
        assert pair.result("cleanup_queue")[0] == {"deleted": 0, "failed": 50}
    assert queue(pair) == {"cold": [50, 0, 2]}


def test_a_pass_ends_with_the_first_claim_that_has_no_answer(
    pair: TwoBackends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reaper.expiry.deletion_retries.AT_ONCE", 10)
    with pair.in_process_worker() as in_process:
        owing(pair, in_process, 30)
        assert pair.result("cleanup_queue")[0] == {"deleted": 0, "failed": 10}
        pair.mend("cold")
        pair.advance_clock("5 minutes")
        in_process.run_service("cleanup_queue")
        assert pair.result("cleanup_queue")[0] == {"deleted": 30, "failed": 0}
    pair.judge()


def test_a_worker_starts_without_one_backend_and_catches_up_when_it_is_back(pair: TwoBackends) -> None:
    pair.fill("default", 100)
    pair.fill("cold", 100)
    pair.advance_clock("2 hours")
    pair.cut("cold")
    worker = pair.worker("--batch-size", "10")
    pair.started("cleanup_queue")
    pair.run("drain")
    pair.until("reaper.count_due() = 0 and not exists (select from reaper.in_flight)")
    assert (pair.keys("default"), len(pair.keys("cold"))) == (set(), 100)
    assert pair.circuit("cold") == "open"
    pair.mend("cold")
    pair.advance_clock("15 minutes")
    pair.run("breaker_watchdog")
    pair.until("(select circuit = 'closed' from reaper.backends where name = 'cold')")
    pair.run("cleanup_queue")
    pair.until("not exists (select from reaper.cleanup_queue)")
    assert terminated(worker) == 0
    assert pair.jobs("failed") == []
    pair.judge()


def test_a_probe_whose_sender_died_is_sent_again_and_its_late_answer_changes_nothing(
    pair: TwoBackends,
) -> None:
    pair.sql("update reaper.settings set circuit_failures = 1")
    pair.sql("select reaper.record_backend_failure('cold', 'no connection')")
    pair.advance_clock("1 minute")
    stale = pair.value("select reaper.claim_probe('cold')")
    with pair.in_process_worker() as in_process:
        in_process.run_service("breaker_watchdog")
        assert (pair.circuit("cold"), pair.result("breaker_watchdog")[0]["probed"]) == ("half_open", 0)
        pair.advance_clock("2 minutes")
        in_process.run_service("breaker_watchdog")
        assert pair.result("breaker_watchdog")[0] == {"reset": 1, "probed": 1, "closed": 1}
    assert pair.value("select reaper.finish_probe('cold', %s, 'too late')", stale) is False
    assert pair.circuit("cold") == "closed"


def test_a_probe_that_fails_leaves_the_backend_alone_for_longer(pair: TwoBackends) -> None:
    pair.sql("update reaper.settings set circuit_failures = 1")
    pair.sql("select reaper.record_backend_failure('cold', 'no connection')")
    pair.cut("cold")
    with pair.in_process_worker() as in_process:
        for _ in range(3):
            pair.advance_clock("15 minutes")
            in_process.run_service("breaker_watchdog")
    assert pair.sql("select state, trips from reaper.circuits") == [("open", 4)]
    assert "does not answer" in pair.value("select last_error from reaper.backends where name = 'cold'")


def test_a_drain_without_workers_finds_out_that_a_backend_is_back(pair: TwoBackends) -> None:
    pair.fill("cold", 100)
    pair.advance_clock("2 hours")
    pair.cut("cold")
    pair.drain(batch_size=10)
    assert pair.circuit("cold") == "open"
    pair.mend("cold")
    pair.advance_clock("1 hour")
    pair.drain()
    pair.judge()


def test_a_process_starts_without_one_backend_says_so_and_makes_both_known(pair: TwoBackends) -> None:
    pair.sql("delete from reaper.backend_list where name = 'cold'")
    pair.cut("cold")
    with pair.app() as app, capture_logs() as logs:
        app.check()
    assert [(line["event"], line["backend"]) for line in logs] == [
        ("backend unreachable at start, other backends are used", "cold")
    ]
    assert pair.sql("select name from reaper.backends") == [("cold",), ("default",)]
    pair.cut("default")
    with pair.app() as app, pytest.raises(Unreachable, match="does not answer"):
        app.check()


def test_a_bucket_that_is_not_there_keeps_a_process_from_starting(pair: TwoBackends) -> None:
    pair.backends["default"] = replace(pair.backends["default"], name="wrong-default")
    with pair.app() as app, pytest.raises(ConfigError, match="bucket wrong-default does not exist"):
        app.check()


def test_the_accounts_are_folded(pair: TwoBackends) -> None:
    pair.fill("cold", 30)
    pair.fill("default", 30)
    before = pair.sql("select * from reaper.backends")
    with pair.in_process_worker() as in_process:
        in_process.run_service("accounts")
    assert pair.result("accounts")[0]["folded"] >= 120
    assert pair.value("select count(*) from reaper.byte_deltas") == 2
    assert pair.sql("select * from reaper.backends") == before
