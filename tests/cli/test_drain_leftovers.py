"""The last lines of `reaper drain`: what is unfinished, so that "nothing is due" is no half-truth."""

import pytest

from reaper.cli import options
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, Pastes, codes, value


def test_batches_that_a_killed_drain_still_holds_are_told(run: Run, paste: Pastes, db: Connection) -> None:
    for number in range(3):
        paste(f"p{number}", content=f"c{number}", expires="-1 hour")
    db.execute("select reaper.heartbeat('killed', p_takes_jobs => false)")
    db.execute("select reaper.claim_expired(2, 'killed')")
    done = run("drain")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first.startswith("1 paste deleted in 1 batch")
    assert second.startswith("2 due pastes in 1 batch are held by other workers, for ")
    assert second.endswith(
        ": if these are dead, the watchdog (reaper watchdog --once) returns them 1 min after"
        " the last heartbeat"
    )
    unfinished = run("drain", "--json").json["unfinished"]
    assert (unfinished["rows_held"], unfinished["batches_held"]) == (2, 1)
    assert unfinished["held_for"] >= 0
    assert unfinished["worker_silence"] == 60


def test_released_batches_of_others_are_told(run: Run, paste: Pastes, db: Connection) -> None:
    paste("p", content="c", expires="-1 hour")
    db.execute("select reaper.heartbeat('killed', p_takes_jobs => false)")
    batch = value(db, "select batch_id from reaper.claim_expired(2, 'killed')")
    db.execute("select reaper.drop_references(%s)", [batch])
    done = run("drain")
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert "1 object in 1 batch is held by other workers, for " in done.out


def test_nothing_unfinished_is_no_line(run: Run, paste: Pastes) -> None:
    paste("p", content="c", expires="-1 hour")
    assert run("drain").out.count("\n") == 1


def test_objects_behind_an_open_circuit_are_told_by_every_drain(
    run: Run, paste: Pastes, db: Connection
) -> None:
    paste("p", content="c", expires="-1 hour")
    db.execute("update reaper.settings set circuit_failures = 1")
    assert run("doctor").code == 0
    db.execute("select reaper.record_backend_failure('default', 'no connection')")
    first, second = run("drain"), run("drain")
    told = (
        "1 object queued behind an open circuit (default), tried when the backend answers:"
        " reaper backend list"
    )
    assert (first.code, second.code) == (0, 0)
    assert first.out.splitlines()[-1] == told
    assert second.out.splitlines()[1:] == [told]
    unfinished = run("drain", "--json").json["unfinished"]
    assert (unfinished["objects_behind_circuits"], unfinished["circuits_open"]) == (1, ["default"])


def test_dead_letters_and_blocked_rows_of_earlier_drains_are_told_with_the_remedy(
    run: Run, paste: Pastes, db: Connection
) -> None:
    paste("kept", content="c", expires="-1 hour")
    db.execute("create table public.likes (code text references public.pastes)")
    db.execute("insert into public.likes values ('kept')")
    blocked = (
        "1 row blocked: select * from reaper.blocked_rows; reaper.unblock() lets the next drain try again"
    )
    first, second = run("drain", "--workers", "1"), run("drain")
    assert (first.code, second.code) == (0, 0)
    assert "1 row could not be deleted: " in first.out
    assert second.out.splitlines()[1:] == [blocked]
    assert codes(db) == {"kept"}
    db.execute(
        "insert into reaper.cleanup_dlq"
        " (queue_id, backend, object_key, attempts, cause, last_error, queued_at, buried_at)"
        " values (1, 'default', 'k', 10, 'AccessDenied', 'AccessDenied', now(), now())"
    )
    dead = (
        "1 object in the DLQ, not tried again: reaper dlq list;"
        " when the cause is gone: reaper dlq retry --all"
    )
    assert run("drain").out.splitlines()[1:] == [blocked, dead]
    assert run("drain", "--json").json["unfinished"]["dead_letters"] == 1


def test_a_drain_that_a_signal_stopped_says_what_is_left_and_ends_with_1(
    run: Run, paste: Pastes, monkeypatch: pytest.MonkeyPatch
) -> None:
    paste("p", content="c", expires="-1 hour")
    monkeypatch.setattr(options, "stop_on_signals", lambda stop: stop.set())
    done, as_json = run("drain"), run("drain", "--json")
    assert (done.code, as_json.code) == (1, 1)
    why = "a signal stopped the drain"
    assert done.out.splitlines()[-1] == f"1 due paste left behind, held by no worker: {why}"
    assert (as_json.json["rows_left"], as_json.json["left_because"]) == (1, why)
