"""A worker behind a transaction pooler says so at once, doctor finds it, and other commands work there."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from reaper import procrastinate
from reaper.db.pooler import pooler_problem
from reaper.errors import ConfigError
from tests.cli.conftest import Run
from tests.support.pgbouncer import pgbouncer


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that a server of another user can read."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize(
    ("ignored", "says"),
    [("", "refuses the start-up parameter options"), ("options", "options does not reach the server")],
)
def test_a_worker_behind_a_transaction_pooler_says_so_and_doctor_finds_it(
    run: Run, dsn: str, open_folder: Path, ignored: str, says: str
) -> None:
    with pgbouncer(dsn, open_folder, ignored=ignored) as address:
        done = run("worker", REAPER_DATABASE_URL=address)
        assert done.code == 4
        assert says in done.complaint[0]
        assert "PostgreSQL's own address" in done.complaint[1]
        examined = run("doctor", "--json", REAPER_DATABASE_URL=address)
        assert examined.code == 1
        [found] = [d for d in examined.json if d["name"] == "session"]
        assert (found["verdict"], says in found["detail"]) == ("fail", True)
        assert run("status", REAPER_DATABASE_URL=address).code == 0


def test_what_a_command_sets_does_not_stay_in_a_poolers_sessions(
    run: Run, dsn: str, open_folder: Path
) -> None:
    with pgbouncer(dsn, open_folder) as address:
        with psycopg.connect(address, autocommit=True) as before:
            before.execute("set statement_timeout = '7s'")
        assert run("status", REAPER_DATABASE_URL=address).code == 0
        with psycopg.connect(address, autocommit=True) as after:
            assert after.execute("show statement_timeout").fetchone() == ("7s",)
            assert after.execute("show search_path").fetchone() == ('"$user", public',)


def test_a_direct_address_has_no_pooler(dsn: str) -> None:
    assert pooler_problem(dsn) is None


def test_tasks_in_an_app_of_somebody_else_behind_a_transaction_pooler_say_so(
    dsn: str, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAPER_S3_BUCKET", "unused")
    with pgbouncer(dsn, open_folder, ignored="options") as address:
        monkeypatch.setenv("REAPER_DATABASE_URL", address)
        with pytest.raises(ConfigError, match="pooler stands between"):
            procrastinate._runtime()
