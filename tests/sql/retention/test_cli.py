"""`reaper policy` as a person or a script meets it."""

import pytest

from tests.cli.conftest import bare_run as bare_run
from tests.support.paste_fixtures import record, value


@pytest.fixture
def run(bare_run, dsn, monkeypatch):
    """Runs a command that knows the database and nothing else."""
    monkeypatch.setenv("REAPER_DATABASE_URL", dsn)
    return lambda *arguments: bare_run("policy", *arguments)


@pytest.fixture
def added(run, history):
    """The policy `history` on three old rows and a fresh one."""
    history("1 year", count=3)
    history("1 day")
    arguments = ("--table", "pgbench_history", "--column", "mtime", "--max-age", "90 days")
    return lambda *more: run("add", "history", *arguments, *more)


def test_from_registration_to_removal(db, run, added):
    done = added()
    assert (done.code, done.err) == (0, "")
    assert "reaper policy plan history" in done.out
    assert run("plan", "history").code == 0
    assert run("enable", "history").out == "policy history is enabled\n"
    assert run("run", "history").out == "3 rows deleted in 1 batch\n"
    assert run("disable", "history").out == "policy history is disabled\n"
    assert run("remove", "history").out == "policy history is removed\n"
    assert value(db, "select count(*) from pgbench_history") == 1
    assert "no policies" in run("list").out


def test_every_option_is_kept(db, added):
    assert added("--batch-limit", "7", "--schedule", "15 3 * * *", "--allow-cascade").code == 0
    row = record(db, "select batch_limit, schedule, allow_cascade, enabled from reaper.policies")
    assert row == (7, "15 3 * * *", True, False)


def test_a_refusal_is_one_line_and_the_fix_with_exit_code_4(db, added):
    db.execute("drop index pgbench_history_mtime")
    done = added()
    assert (done.code, done.out) == (4, "")
    first, second = done.err.splitlines()
    assert first.startswith("reaper: retention policy history: public.pgbench_history has no valid index")
    assert second == "create index concurrently on public.pgbench_history (mtime);"


@pytest.mark.parametrize(
    "wrong",
    [
        ("--table", "nothing"),
        ("--column", "nothing"),
        ("--max-age", "long"),
        ("--max-age", "-1 day"),
        ("--schedule", "99 99 * * *"),
        ("--schedule", "now and then"),
    ],
)
def test_what_makes_no_sense_is_refused_with_exit_code_4(db, added, wrong):
    done = added(*wrong)
    assert done.code == 4
    assert done.err.startswith("reaper: ")
    assert "Traceback" not in done.err
    assert value(db, "select count(*) from reaper.policies") == 0


@pytest.mark.parametrize("arguments", [["add", "x"], ["enable"], ["run", "x", "--limit", "0"], ["nonsense"]])
def test_wrong_usage_has_exit_code_2(run, arguments):
    assert run(*arguments).code == 2


@pytest.mark.parametrize("command", ["plan", "enable", "disable", "remove", "run"])
def test_a_policy_that_is_not_there_has_exit_code_4(run, command):
    done = run(command, "nobody")
    assert done.code == 4
    assert done.err.startswith("reaper: there is no retention policy nobody\n")


def test_running_a_policy_that_is_not_enabled_says_so_instead_of_0(db, run, added):
    added()
    done = run("run", "history", "--limit", "1")
    assert done.code == 4
    assert "is not enabled" in done.err
    assert "reaper policy enable history" in done.err
    assert value(db, "select count(*) from pgbench_history") == 4


def test_one_run_is_one_batch_and_says_that_there_may_be_more(db, run, added):
    added()
    run("enable", "history")
    done = run("run", "history", "--limit", "2")
    assert done.out.splitlines() == [
        "2 rows deleted in 1 batch",
        "there may be more: run it again, or with --all",
    ]
    assert value(db, "select count(*) from pgbench_history") == 2


def test_all_runs_until_a_batch_finds_less_than_its_limit(run, added):
    added("--batch-limit", "1")
    run("enable", "history")
    assert run("run", "history", "--all").out == "3 rows deleted in 4 batches\n"


def test_the_list_shows_what_is_enabled_and_what_would_stop_it(db, run, added):
    added()
    run("enable", "history")
    run("run", "history")
    line = run("list").out.splitlines()[1]
    assert line.startswith("history  enabled  @hourly ")
    assert ", 3 rows  public.pgbench_history, mtime older than 90 days; 500 rows at a time" in line
    db.execute("drop table pgbench_history")
    assert "was dropped, renamed or created again" in run("list").out


def test_the_list_as_json(run, added):
    assert run("list", "--json").json == []
    added()
    (policy,) = run("list", "--json").json
    assert (policy["name"], policy["enabled"], policy["max_age"], policy["problems"]) == (
        "history",
        False,
        "90 days",
        [],
    )


def test_the_plan_for_people_and_for_machines(run, added):
    added("--batch-limit", "2")
    text = run("plan", "history").out
    assert "3 rows to delete, 75.0% of about 4" in text
    assert "Index Scan using pgbench_history_mtime" in text
    assert "assumed: it has never run" in text
    plan = run("plan", "history", "--json").json
    assert (plan["rows_aged"], plan["batches"], plan["share"]) == (3, 2, 0.75)


def test_help_teaches_the_three_steps(run):
    text = run("--help").out
    for step in ("reaper policy add history", "reaper policy plan history", "reaper policy enable history"):
        assert step in text
