"""A command whose login lacks a role says which one, and how to grant it."""

from collections.abc import Callable, Iterator

import pytest
from psycopg.conninfo import make_conninfo

from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection


@pytest.fixture
def login(db: Connection, dsn: str) -> Iterator[Callable[[str | None], str]]:
    """The address for a login that has one role of ours, or none."""

    def make(role: str | None) -> str:
        db.execute("create role cli_login login" + (f" in role {role}" if role else ""))
        return make_conninfo(dsn, user="cli_login")

    yield make
    db.execute("drop role cli_login")


def test_a_worker_whose_login_is_an_operators_is_told_to_have_reaper_worker(
    run: Run, login: Callable[..., str]
) -> None:
    done = run("worker", REAPER_DATABASE_URL=login("reaper_ops"))
    assert done.code == 4
    assert done.complaint == [
        "reaper: login cli_login may not use the job queue, which a worker needs",
        "Run: grant reaper_worker to cli_login",
    ]


def test_a_login_without_any_role_is_told_which_there_are(bare_run: Run, login: Callable[..., str]) -> None:
    done = bare_run("status", REAPER_DATABASE_URL=login(None))
    assert done.complaint[0] == "reaper: login cli_login may not use schema reaper"
    assert 'grant reaper_worker to "cli_login"' in done.complaint[1]


@pytest.mark.parametrize(
    ("role", "command", "grant"),
    [
        ("reaper_ro", ("service", "run", "drain"), "Run: grant reaper_ops to cli_login"),
        ("reaper_app", ("status",), "Run: grant reaper_ro to cli_login (or reaper_worker or reaper_ops)"),
    ],
)
def test_a_login_with_another_role_is_told_which_one_may(
    bare_run: Run, login: Callable[..., str], role: str, command: tuple[str, ...], grant: str
) -> None:
    assert bare_run(*command, REAPER_DATABASE_URL=login(role)).complaint[1] == grant
