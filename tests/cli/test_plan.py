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


def test_a_pace_that_is_slower_than_the_last_runs_decides_the_time(
    bare_run: Run, dsn: str, paste: Pastes, db: Connection
) -> None:
    paste.many("p", 120)
    db.execute("update reaper.settings set rows_per_second = 10")
    assert "about 12 s at 10 rows/s, the pace that is set" in bare_run("plan", REAPER_DATABASE_URL=dsn).out


def test_nothing_due_is_said_and_blocked_rows_are_named(
    bare_run: Run, dsn: str, db: Connection, paste: Pastes
) -> None:
    assert "nothing is due" in bare_run("plan", REAPER_DATABASE_URL=dsn).out
    paste("a")
    db.execute("insert into reaper.blocked values ('a', '23503', 'no', 1, now(), now() + interval '1 hour')")
    done = bare_run("plan", REAPER_DATABASE_URL=dsn)
    assert "1 paste due, of which 1 is blocked for now" in done.out
    assert codes(db) == {"a"}


def test_a_plan_needs_only_the_database_and_the_role_of_a_worker(bare_run: Run, worker_dsn: str) -> None:
    assert bare_run("drain", "--dry-run", "--database-url", worker_dsn).code == 0


@pytest.fixture
def many(db: Connection) -> None:
    """12,000 due pastes of 6,000 contents, of which half have no recorded size."""
    db.execute(
        "insert into content (content_hash, ref_count, size_bytes)"
        " select 'c' || n, 2, 1000 * (n % 2) from generate_series(0, 5999) as n"
    )
    db.execute(
        "insert into pastes (short_code, content_hash, expires_at)"
        " select 'p' || n, 'c' || n % 6000, now() - interval '1 hour' from generate_series(0, 11999) as n"
    )
    db.execute("analyze content, pastes")


@pytest.mark.usefixtures("many")
def test_many_rows_are_estimated_and_the_plan_says_so(bare_run: Run, dsn: str) -> None:
    made = bare_run("plan", "--json", REAPER_DATABASE_URL=dsn).json
    assert made["exact"] is False
    assert 10_000 <= made["rows_due"] <= 14_000
    out = bare_run("plan", REAPER_DATABASE_URL=dsn).out
    assert "about 12,000 pastes due" in out
    assert "--exact counts them" in out
    assert "is unknown" in out


@pytest.mark.parametrize("command", [["plan"], ["drain", "--dry-run"]])
@pytest.mark.usefixtures("many")
def test_they_are_counted_where_that_is_asked_for(command: list[str], bare_run: Run, dsn: str) -> None:
    made = bare_run(*command, "--exact", "--json", REAPER_DATABASE_URL=dsn).json
    assert (made["exact"], made["rows_due"], made["objects_freed"]) == (True, 12_000, 6_000)
    assert (made["bytes_freed"], made["objects_unsized"]) == (3_000_000, 3_000)
    out = bare_run(*command, "--exact", REAPER_DATABASE_URL=dsn).out
    assert "12,000 pastes due" in out
    assert "about" not in out
    assert "6,000 objects deleted, 3 MB and more freed; the size of 3,000 objects is unknown" in out


def test_few_rows_are_counted_anyway(bare_run: Run, dsn: str, paste: Pastes) -> None:
    paste("a", content="kept")
    paste("b", content="kept", expires="+1 day")
    paste("c", content="unsized", size=0)
    done = bare_run("plan", REAPER_DATABASE_URL=dsn)
    assert "2 pastes due" in done.out
    assert "1 object deleted, size unknown" in done.out
    assert "1 content, because live or blocked pastes use it" in done.out
    assert bare_run("plan", "--json", REAPER_DATABASE_URL=dsn).json["exact"] is True


def test_rows_that_a_worker_has_claimed_are_in_progress(
    bare_run: Run, dsn: str, paste: Pastes, me: Worker
) -> None:
    paste.many("a", 3)
    me.claim(2)
    assert "3 pastes due, of which 2 are in progress" in bare_run("plan", REAPER_DATABASE_URL=dsn).out


def test_a_drain_counts_nothing_exactly_beforehand(bare_run: Run, dsn: str) -> None:
    assert bare_run("drain", "--exact", REAPER_DATABASE_URL=dsn).code == 2
