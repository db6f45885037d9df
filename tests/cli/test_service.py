"""`reaper service`, `reaper jobs`, `reaper pause` and `reaper resume`, and what status says about them."""

import json
from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from reaper.services import ALL
from tests.cli.conftest import Outcome, Run
from tests.support.paste_fixtures import Clock, Connection, Pastes, column, record, value

LOSE = "update procrastinate.procrastinate_jobs set worker_id = null, status = 'doing'"


@pytest.fixture
def ops_dsn(db: Connection, dsn: str) -> Iterator[str]:
    """An operator's login, with no other right; the services are registered as a worker does it."""
    for s in ALL:
        db.execute(
            "select reaper.register_service(%s, %s, %s, %s)", [s.name, s.schedule, s.description, s.enabled]
        )
    db.execute("create role cli_operator login in role reaper_ops")
    yield make_conninfo(dsn, user="cli_operator")
    db.execute("drop role cli_operator")


@pytest.fixture
def operate(bare_run: Run, ops_dsn: str) -> Run:
    """Runs a command as the operator."""
    return lambda *arguments: bare_run(*arguments, REAPER_DATABASE_URL=ops_dsn)


def test_services_are_listed_with_their_schedule_and_state(operate: Run, db: Connection) -> None:
    db.execute(
        "update reaper.services set next_run_at = reaper.clock() + interval '90 minutes' where name = 'drain'"
    )
    done = operate("service", "list")
    assert (done.code, done.err) == (0, "")
    line = next(line for line in done.out.splitlines() if line.startswith("drain"))
    assert "0 0 * * *" in line
    assert "next in 1 h" in line
    assert {entry["name"] for entry in operate("service", "list", "--json").json} == {s.name for s in ALL}


def test_a_failing_service_is_shown_with_its_error_and_exit_code_1(operate: Run, db: Connection) -> None:
    db.execute("select reaper.finish_run('prune', null, 'disk is full')")
    done = operate("service", "list")
    assert done.code == 1
    assert "failed 1 time in a row: disk is full" in done.out
    assert "1 failing" in operate("status").out


def test_where_no_service_is_registered_the_command_that_does_it_is_named(bare_run: Run, dsn: str) -> None:
    done = bare_run("service", "list", REAPER_DATABASE_URL=dsn)
    assert (done.code, "reaper migrate" in done.out) == (0, True)


def test_run_makes_a_service_due_and_is_audited(operate: Run, db: Connection) -> None:
    assert operate("service", "run", "drain", "--reason", "cannot wait").code == 0
    assert value(db, "select next_run_at <= reaper.clock() from reaper.services where name = 'drain'")
    audit = record(db, "select who, action, subject, reason from reaper.audit")
    assert tuple(audit) == ("cli_operator", "run_now", "drain", "cannot wait")


def test_pause_and_resume_are_about_the_drain_and_say_until_when(operate: Run, db: Connection) -> None:
    done = operate("pause", "--for", "2 h", "--reason", "restoring a replica")
    assert (done.code, done.out.startswith("drain is paused until ")) == (0, True)
    assert value(
        db, "select paused_until - reaper.clock() > '119 minutes' from reaper.services where name = 'drain'"
    )
    assert "paused by cli_operator: restoring a replica" in operate("service", "list").out
    assert "drain is paused until" in operate("status").out
    assert operate("resume").code == 0
    assert value(db, "select paused_until is null from reaper.services where name = 'drain'")
    assert column(db, "select action from reaper.audit order by audit_id") == ["pause", "resume"]


def test_a_late_backlog_that_somebody_paused_is_no_alarm(operate: Run, paste: Pastes) -> None:
    paste("late", expires="-30 hours")
    assert operate("status").code == 3
    operate("pause", "--reason", "on purpose")
    done = operate("status")
    assert (done.code, done.out.startswith("● paused")) == (0, True)
    assert operate("status", "--json").json["verdict"] == "paused"


def test_a_pause_without_reason_or_with_a_strange_length_is_wrong_usage(operate: Run) -> None:
    assert operate("pause").code == 2
    strange = operate("pause", "--reason", "x", "--for", "a while")
    assert strange.code == 2
    assert "30 s, 15 min, 2 h" in strange.complaint[0]


def test_a_schedule_is_checked_before_it_is_kept(operate: Run, db: Connection) -> None:
    wrong = operate("service", "reschedule", "drain", "every night")
    assert (wrong.code, "invalid schedule" in wrong.complaint[0]) == (4, True)
    assert operate("service", "reschedule", "drain", "continuous").code == 0
    assert value(db, "select schedule from reaper.services where name = 'drain'") == "continuous"


def test_enable_and_disable(operate: Run, db: Connection) -> None:
    enabled = "select enabled from reaper.services where name = 'prune'"
    operate("service", "disable", "prune")
    assert value(db, enabled) is False
    assert "off: prune" in operate("status").out
    operate("service", "enable", "prune")
    assert value(db, enabled) is True


def test_a_service_that_does_not_exist_is_refused_with_those_that_do(operate: Run) -> None:
    done = operate("service", "run", "drian")
    assert done.code == 4
    assert done.complaint == [
        "reaper: there is no service 'drian'",
        f"Known services: {', '.join(sorted(s.name for s in ALL))}",
    ]


def defer(db: Connection, lock: str) -> None:
    db.execute("select reaper.enqueue_job('reaper:service', %s, %s)", [lock, json.dumps({"name": lock})])


def test_jobs_are_listed_and_those_of_dead_workers_rescued(operate: Run, db: Connection) -> None:
    assert operate("jobs", "list").out == "no jobs\n"
    db.execute("set search_path = procrastinate")
    defer(db, "service:owed")
    db.execute(LOSE)
    lost: Outcome = operate("jobs", "list")
    assert (lost.code, "its worker is dead" in lost.out) == (1, True)
    rescued = operate("jobs", "rescue")
    assert (rescued.code, "queued again" in rescued.out) == (0, True)
    assert [job["status"] for job in operate("jobs", "list", "--json").json] == ["todo"]


def test_status_counts_the_slots_and_says_why_a_worker_waits(
    operate: Run, db: Connection, clock: Clock
) -> None:
    clock.stop()
    db.execute(
        "select reaper.heartbeat('host:1:a'), reaper.record_throttle('host:1:a', 'replica x is 40 s behind')"
    )
    db.execute("select reaper.enqueue_job('reaper:drain', 'drain:0', '{\"slot\": 0}')")
    out = operate("status").out
    assert "0 draining, 1 waiting" in out
    assert "waits: replica x is 40 s behind" in out
