"""`reaper plan`, which is `reaper drain --dry-run`."""

import pytest

from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, Pastes, Worker, codes


@pytest.fixture
def shared(paste: Pastes) -> None:
    """2,500 due pastes: 1,500 with content of their own, 1,000 that share it with a live one."""
    paste.many("own", 1500, expires="-1 hour", size=10)
    paste.many("shared", 1000, content="same", expires="-1 hour")
    paste("live", content="same", expires="+1 day")


@pytest.mark.parametrize("command", [["plan"], ["drain", "--dry-run"]])
@pytest.mark.usefixtures("shared")
def test_the_plan_counts_what_would_really_go_and_changes_nothing(
    command: list[str], bare_run: Run, dsn: str, db: Connection
) -> None:
    before = db.execute("select xmin::text, * from pastes order by short_code").fetchall()
    made = bare_run(*command, "--json", REAPER_DATABASE_URL=dsn).json
    assert (made["rows_due"], made["objects_freed"], made["bytes_freed"]) == (2500, 1500, 15000)
    assert made["objects_kept"] == 1
    assert (made["batches"], made["s3_calls"], made["redis_round_trips"]) == (3, 3, 9)
    assert db.execute("select xmin::text, * from pastes order by short_code").fetchall() == before


@pytest.mark.usefixtures("shared")
def test_the_batch_size_decides_how_many_calls_it_takes(bare_run: Run, dsn: str) -> None:
    made = bare_run("plan", "--json", "--batch-size", "100", REAPER_DATABASE_URL=dsn).json
    assert (made["batches"], made["s3_calls"]) == (25, 25)


def test_without_any_run_the_time_is_unknown_and_then_it_is_that_of_the_last_runs(
    bare_run: Run, dsn: str, paste: Pastes, me: Worker
) -> None:
    paste("a")
    assert "unknown: no run yet" in bare_run("plan", REAPER_DATABASE_URL=dsn).out
    me.drain()
    paste("b")
    assert "rows/s, as in the last runs" in bare_run("plan", REAPER_DATABASE_URL=dsn).out


def test_nothing_due_is_said_and_blocked_rows_are_named(
    bare_run: Run, dsn: str, db: Connection, paste: Pastes
) -> None:
    assert "nothing is due" in bare_run("plan", REAPER_DATABASE_URL=dsn).out
    paste("a")
    db.execute("insert into reaper.blocked values ('a', '23503', 'no', 1, now(), now() + interval '1 hour')")
    done = bare_run("plan", REAPER_DATABASE_URL=dsn)
    assert "1 paste due, of which 1 are blocked for now" in done.out
    assert codes(db) == {"a"}


def test_a_plan_needs_only_the_database_and_the_role_of_a_worker(bare_run: Run, worker_dsn: str) -> None:
    assert bare_run("drain", "--dry-run", "--database-url", worker_dsn).code == 0
