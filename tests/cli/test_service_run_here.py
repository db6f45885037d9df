"""`reaper service run NAME --here`: the run path of a worker, in the process of the command."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, Pastes, column, record, value
from tests.support.waiting import wait_until

LOCK = "select pg_advisory_lock(1919246704, reaper.service_lock_key(%s))"
UNLOCK = "select pg_advisory_unlock_all()"
RECORD = "select runs, skipped, last_result, last_error, last_worker from reaper.schedule where name = %s"


@pytest.fixture
def registered(run: Run) -> Run:
    """A run that finds every service in the schedule."""
    assert run("service", "run", "prune", "--here").code == 0
    return run


@pytest.fixture
def holder(registered: Run, connect: Any) -> Iterator[Connection]:  # noqa: ARG001  the key is made by it
    """Another session that holds the lock of the service accounts."""
    connection = connect()
    connection.execute(LOCK, ["accounts"])
    yield connection
    connection.execute(UNLOCK)


def test_a_service_runs_here_is_recorded_and_its_figures_are_printed(run: Run, db: Connection) -> None:
    done = run("service", "run", "accounts", "--here")
    assert (done.code, done.out) == (0, "accounts: folded 0\n")
    recorded = record(db, RECORD, "accounts")
    assert (recorded.runs, recorded.last_result) == (1, {"folded": 0})


def test_the_figures_come_as_json(run: Run) -> None:
    done = run("service", "run", "watchdog", "--here", "--json").json
    assert (done["service"], done["outcome"], done["more"], done["error"]) == (
        "watchdog",
        "done",
        False,
        None,
    )
    assert set(done["figures"]) == {"rows_reset", "batches_reset", "batches_orphaned", "batches_adopted"}


def test_the_drain_runs_here_too(run: Run, paste: Pastes, db: Connection) -> None:
    paste("gone", content="old", expires="-1 hour")
    done = run("service", "run", "drain", "--here", "--json").json
    assert done["figures"]["rows_deleted"] == 1
    assert value(db, "select reaper.count_due()") == 0


def test_a_service_that_is_switched_off_runs_here(registered: Run, db: Connection) -> None:
    db.execute("select reaper.disable_service('accounts')")
    assert registered("service", "run", "accounts", "--here").code == 0
    assert record(db, RECORD, "accounts").runs == 1


def test_a_paused_service_is_refused_with_who_and_why_unless_one_means_it(
    registered: Run, db: Connection
) -> None:
    db.execute("select reaper.pause('accounts', '1 hour', 'the month is closing')")
    done = registered("service", "run", "accounts", "--here")
    assert done.code == 1
    assert "accounts is paused until" in done.complaint[0]
    assert "the month is closing" in done.complaint[0]
    assert "--despite-pause" in done.complaint[1]
    assert record(db, RECORD, "accounts").runs == 0
    as_json = registered("service", "run", "accounts", "--here", "--json")
    assert (as_json.code, as_json.json["outcome"]) == (1, "paused")
    assert registered("service", "run", "accounts", "--here", "--despite-pause").code == 0
    assert record(db, RECORD, "accounts").runs == 1


def test_a_drain_that_is_switched_off_deletes_here(registered: Run, paste: Pastes, db: Connection) -> None:
    paste("gone", content="old", expires="-1 hour")
    db.execute("select reaper.disable_service('drain')")
    assert registered("service", "run", "drain", "--here", "--json").json["figures"]["rows_deleted"] == 1


def test_a_paused_drain_deletes_here_when_one_means_it(
    registered: Run, paste: Pastes, db: Connection
) -> None:
    paste("gone", content="old", expires="-1 hour")
    db.execute("select reaper.pause('drain', '1 hour', 'the month is closing')")
    assert registered("service", "run", "drain", "--here").code == 1
    assert value(db, "select reaper.count_due()") == 1
    done = registered("service", "run", "drain", "--here", "--despite-pause", "--json").json
    assert (done["figures"]["rows_deleted"], done["more"]) == (1, False)


def test_a_policy_runs_here_before_any_worker_ran(run: Run, db: Connection) -> None:
    db.execute("create table public.notes (id int primary key, at timestamptz not null)")
    db.execute("create index on public.notes (at)")
    db.execute("grant select, delete, update (at) on public.notes to reaper_owner")
    db.execute("insert into public.notes values (1, now() - interval '2 days'), (2, now())")
    db.execute("select reaper.add_retention_policy('notes', 'public.notes', 'at', '1 day')")
    db.execute("select reaper.enable_policy('notes')")
    done = run("service", "run", "policy:notes", "--here")
    assert (done.code, done.out) == (0, "policy:notes: deleted 1\n")
    db.execute("drop index notes_at_idx")
    refused = run("service", "run", "policy:notes", "--here")
    assert refused.code == 1, "a policy that PostgreSQL refuses is a run that failed"
    assert "policy:notes failed: " in refused.err


@pytest.mark.usefixtures("holder")
def test_a_service_that_another_worker_runs_is_skipped(registered: Run, db: Connection) -> None:
    done = registered("service", "run", "accounts", "--here")
    assert (done.code, done.out) == (0, "accounts skipped: another worker held the service lock\n")
    assert registered("service", "run", "accounts", "--here", "--json").json["outcome"] == "skipped"
    recorded = record(db, RECORD, "accounts")
    assert (recorded.runs, recorded.skipped) == (0, 2)


def test_with_wait_the_lock_is_waited_for(registered: Run, db: Connection, holder: Connection) -> None:
    trying = "select pid from pg_stat_activity where application_name = 'reaper:lock:accounts'"
    pids: set[int] = set()

    def tried_twice() -> bool:
        pids.update(column(holder, trying))
        return len(pids) > 1

    def free_after_the_second_try() -> None:
        wait_until(tried_twice)
        holder.execute(UNLOCK)

    freeing = threading.Thread(target=free_after_the_second_try)
    freeing.start()
    assert registered("service", "run", "accounts", "--here", "--wait").code == 0
    freeing.join()
    assert len(pids) > 1
    assert record(db, RECORD, "accounts").runs == 1


def test_a_run_that_fails_ends_with_code_1_and_is_recorded_as_failed(registered: Run, db: Connection) -> None:
    db.execute("alter function reaper.fold_accounts(integer, text) rename to fold_no_accounts")
    done = registered("service", "run", "accounts", "--here")
    db.execute("alter function reaper.fold_no_accounts(integer, text) rename to fold_accounts")
    assert done.code == 1
    assert "accounts failed: " in done.err
    assert "fold_accounts" in record(db, RECORD, "accounts").last_error


def test_a_failed_run_comes_as_json_too(registered: Run, db: Connection) -> None:
    db.execute("alter function reaper.fold_accounts(integer, text) rename to fold_no_accounts")
    done = registered("service", "run", "accounts", "--here", "--json")
    db.execute("alter function reaper.fold_no_accounts(integer, text) rename to fold_accounts")
    assert (done.code, done.json["outcome"]) == (1, "failed")
    assert "fold_accounts" in done.json["error"]


def test_a_service_that_is_not_known_is_refused_with_those_that_are(registered: Run) -> None:
    done = registered("service", "run", "nope", "--here")
    assert done.code == 4
    assert "no service 'nope'" in done.complaint[0]
    assert "watchdog" in done.complaint[1]


def test_options_of_a_run_here_need_here(registered: Run) -> None:
    assert registered("service", "run", "prune", "--wait").code == 2


def test_a_service_that_changes_no_bucket_leaves_no_marker_there(run: Run, bucket: Any) -> None:
    for name in ("invalidations", "prune", "accounts", "job_rescue"):
        assert run("service", "run", name, "--here").code == 0
        assert [found.key for found in bucket.objects.all()] == [], name
    assert run("service", "run", "cleanup_queue", "--here").code == 0
    assert [found.key for found in bucket.objects.all()] == [".reaper/owner"]


def test_entries_that_are_queued_and_not_due_are_said_to_wait(run: Run, db: Connection) -> None:
    db.execute(
        "insert into reaper.invalidations (short_code, queued_at, next_attempt)"
        " select 'c' || n, now(), '2100-01-01 12:00Z'::timestamptz + n * interval '1 minute'"
        "   from generate_series(0, 2) n"
    )
    done = run("service", "run", "invalidations", "--here")
    assert done.out == (
        "invalidations: dropped 0, failed 0; 3 wait, the next until 2100-01-01 12:00:00 UTC\n"
    )
    waiting = run("service", "run", "invalidations", "--here", "--json").json["waiting"]
    assert waiting == {"number": 3, "until": "2100-01-01T12:00:00+00:00"}
    db.execute("delete from reaper.invalidations")
    assert run("service", "run", "invalidations", "--here").out == "invalidations: dropped 0, failed 0\n"
    assert run("service", "run", "invalidations", "--here", "--json").json["waiting"] is None
    assert run("service", "run", "accounts", "--here", "--json").json["waiting"] is None
