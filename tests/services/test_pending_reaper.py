"""Puts that were never ended: made or undone, with nothing left behind, whatever their writer died of."""

import signal
from typing import Any

import pytest

from tests.support.forked_processes import ended
from tests.support.two_backends import TwoBackends
from tests.support.worker_world import InProcessWorker

DATA = b"0123456789"
INTENTS = "select backend, attempts, last_error from reaper.put_intents order by backend"


def left_by_killed(pair: TwoBackends, where: str, code: str = "mine", data: bytes = DATA) -> None:
    """What a writer leaves that is killed there."""
    assert ended(pair.killed_writer(where, code, data)) == -signal.SIGKILL
    assert pair.value("select count(*) from reaper.put_intents") > 0


def begun(pair: TwoBackends, backend: str, code: str, data: bytes | None = DATA, content: str = "") -> str:
    """An intent whose bytes, if any, are there; the key."""
    pair.only(backend)
    key = str(
        pair.value(
            "select object_key from reaper.begin_put("
            "%s, coalesce(nullif(%s, ''), encode(sha256(%s), 'hex')), 10, reaper.clock() + interval '1 day')",
            *(code, content, DATA),
        )
    )
    if data is not None:
        pair.backends[backend].store(key, data)
    return key


def resolve(pair: TwoBackends, in_process: InProcessWorker) -> Any:
    """Long after the put began, the pending reaper looks."""
    pair.advance_clock("16 minutes")
    in_process.run_service("pending_reaper")
    return pair.result("pending_reaper")[0]


def clean_up(pair: TwoBackends, in_process: InProcessWorker) -> None:
    """Both deletions of a key whose intent was dropped: a slow upload may land after the first."""
    for _ in range(2):
        pair.advance_clock("16 minutes")
        in_process.run_service("cleanup_queue")


def test_a_writer_killed_before_its_commit_has_its_paste_made(pair: TwoBackends) -> None:
    left_by_killed(pair, "before commit_put")
    with pair.in_process_worker() as in_process:
        in_process.run_service("pending_reaper")
        assert pair.value("select count(*) from pastes") == 0, "not before the longest upload is over"
        assert resolve(pair, in_process) == {"committed": 1, "dropped": 0, "deferred": 0, "copies_dropped": 0}
    with pair.app() as app:
        paste = app.store().get("mine")
    assert paste is not None
    assert paste.data == DATA
    pair.judge()


def test_a_writer_killed_before_its_commit_has_its_bytes_removed_where_pastes_are_not_to_be_made(
    pair: TwoBackends,
) -> None:
    pair.sql("update reaper.settings set pending_action = 'drop'")
    left_by_killed(pair, "before commit_put")
    assert len(pair.keys("default") | pair.keys("cold")) == 1
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process) == {"committed": 0, "dropped": 1, "deferred": 0, "copies_dropped": 0}
        clean_up(pair, in_process)
    assert pair.keys("default") | pair.keys("cold") == set()
    pair.judge()


def test_a_writer_killed_before_its_upload_leaves_nothing(pair: TwoBackends) -> None:
    left_by_killed(pair, "before objects.put")
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process) == {"committed": 0, "dropped": 1, "deferred": 0, "copies_dropped": 0}
        clean_up(pair, in_process)
    assert pair.value("select count(*) from pastes") == 0
    pair.judge()


def test_bytes_that_land_after_the_verdict_are_removed_too(pair: TwoBackends) -> None:
    key = begun(pair, "cold", "slow", data=None)
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process)["dropped"] == 1
        pair.advance_clock("16 minutes")
        in_process.run_service("cleanup_queue")
        pair.backends["cold"].store(key, DATA)
        pair.advance_clock("16 minutes")
        in_process.run_service("cleanup_queue")
    assert pair.keys("cold") == set()
    pair.judge()


@pytest.mark.parametrize("data", [b"012345678", b"012345678X", b""], ids=["cut short", "damaged", "empty"])
def test_an_object_that_is_not_what_was_announced_is_no_paste(pair: TwoBackends, data: bytes) -> None:
    begun(pair, "cold", "broken", data)
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process) == {"committed": 0, "dropped": 1, "deferred": 0, "copies_dropped": 0}
        clean_up(pair, in_process)
    assert pair.value("select count(*) from pastes") == 0
    pair.judge()


@pytest.mark.parametrize(("data", "outcome"), [(b"whatever!!", "committed"), (b"short", "dropped")])
def test_of_content_whose_hash_is_the_applications_own_the_size_decides(
    pair: TwoBackends, data: bytes, outcome: str
) -> None:
    begun(pair, "cold", "theirs", data, content="a hash of their own")
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process)[outcome] == 1
        clean_up(pair, in_process)
    pair.judge()


def test_a_hash_in_capital_letters_is_a_hash(pair: TwoBackends) -> None:
    capital = pair.value("select upper(encode(sha256(%s), 'hex'))", DATA)
    begun(pair, "cold", "loud", content=capital)
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process)["committed"] == 1
    pair.judge()


def test_a_backend_that_is_away_keeps_its_intents_and_those_of_the_other_are_resolved(
    pair: TwoBackends,
) -> None:
    for number in range(3):
        begun(pair, "default", f"here {number}", content=f"here {number}")
        begun(pair, "cold", f"there {number}", content=f"there {number}")
    pair.cut("cold")
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process) == {"committed": 3, "dropped": 0, "deferred": 3, "copies_dropped": 0}
        left = pair.sql(INTENTS)
        assert [row[:2] for row in left] == [("cold", 1)] * 3
        assert all("does not answer" in row[2] for row in left)
        # Asked once: the answer that did not come for the first would not come for the others.
        assert pair.value("select failures from reaper.circuits where backend = 'cold'") == 1

        pair.sql("update reaper.circuits set state = 'open', retry_at = reaper.clock()")
        assert resolve(pair, in_process) == {"committed": 0, "dropped": 0, "deferred": 0, "copies_dropped": 0}
        pair.mend("cold")
        in_process.run_service("breaker_watchdog")
        assert resolve(pair, in_process) == {"committed": 3, "dropped": 0, "deferred": 0, "copies_dropped": 0}
    pair.judge()


def test_an_intent_on_a_backend_that_this_worker_does_not_know_waits_for_one_that_does(
    pair: TwoBackends,
) -> None:
    begun(pair, "cold", "elsewhere")
    pair.sql("update reaper.put_intents set backend = 'unknown'")
    pair.sql("update reaper.byte_deltas set backend = 'unknown' where reserved_bytes > 0")
    pair.sql("select reaper.register_backend('unknown')")
    with pair.in_process_worker() as in_process:
        assert resolve(pair, in_process)["deferred"] == 1
    assert pair.sql(INTENTS) == [("unknown", 1, "backend unknown is not configured here")]


def test_a_writer_that_comes_back_before_the_verdict_keeps_its_paste(pair: TwoBackends) -> None:
    begun(pair, "cold", "back")
    intent = pair.value("select intent_id from reaper.put_intents")

    with pair.in_process_worker() as in_process:
        pair.advance_clock("16 minutes")
        leased = pair.sql("select lease, intent_id from reaper.claim_intents()")[0]
        pair.sql("select reaper.commit_put(%s, true)", intent)
        assert pair.value("select reaper.finish_intent(%s, %s, true, 10)", intent, leased[0]) == "gone"
        assert resolve(pair, in_process) == {"committed": 0, "dropped": 0, "deferred": 0, "copies_dropped": 0}
    pair.judge()
