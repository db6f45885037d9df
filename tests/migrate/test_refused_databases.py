"""Databases and tables that reaper cannot work with: refused before the first change, with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from reaper.cli import main
from reaper.dev.embedded import Postgres
from reaper.errors import BadArgument, MigrationRefused
from reaper.migrate import migrate, plan, render_sql
from reaper.queries import Queries
from tests.support.citus_catalogue import distributing
from tests.support.migrate import existing_application
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import admin, one

SCHEMAS = ("public", "reaper", "procrastinate")


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def odd_dsn(maintenance: psycopg.Connection[Any], server: Postgres, encoding: str) -> Iterator[str]:
    """A database with another encoding than UTF8."""
    locale = "lc_collate 'C' lc_ctype 'C'" + (" locale_provider 'libc'" if server.version >= 17 else "")
    create = f"create database reaper_odd encoding '{encoding}' template template0 {locale}"
    maintenance.execute(create.encode())
    yield server.dsn("reaper_odd")
    maintenance.execute("drop database reaper_odd with (force)")


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs `reaper …` here; its exit code and all that it wrote."""

    def run(dsn: str, *arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("REAPER_DATABASE_URL", dsn)
        monkeypatch.setattr("sys.argv", ["reaper", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else 0, captured.out + captured.err

    return run


@pytest.mark.parametrize("way", [migrate, plan, render_sql])
def test_a_database_that_is_not_utf8_is_refused_before_the_first_change(
    odd_dsn: str, encoding: str, way: Callable[[str], object]
) -> None:
    with pytest.raises(MigrationRefused) as caught:
        way(odd_dsn)
    assert caught.value.message == f"database 'reaper_odd' has encoding {encoding}; nothing was changed"
    assert "encoding 'UTF8' template template0" in str(caught.value.hint)
    assert one(odd_dsn, "select to_regnamespace('reaper')::text") is None


def test_commands_on_a_database_that_is_not_utf8_end_with_a_message_and_no_traceback(
    odd_dsn: str, encoding: str, command: Callable[..., tuple[int, str]]
) -> None:
    for arguments in (["status"], ["worker"], ["drain"], ["verify"], ["service", "list"]):
        code, text = command(odd_dsn, *arguments)
        assert code in (2, 4), (arguments, text)
        assert "Traceback" not in text
    code, text = command(odd_dsn, "status")
    assert (code, "Run `reaper migrate`" in text) == (4, True), text
    code, text = command(odd_dsn, "migrate")
    assert (code, f"has encoding {encoding}" in text) == (4, True), text
    code, text = command(odd_dsn, "doctor")
    assert (code, f"has encoding {encoding}" in text) == (1, True), text


def test_another_client_encoding_in_the_environment_is_no_obstacle(
    empty_db_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is psql's too; in LATIN1 the comments of the functions could not even be sent."""
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert migrate(empty_db_dsn).changed


def distribute(dsn: str, table: str) -> None:
    with admin(dsn) as connection:
        connection.execute(distributing(table).encode())


@pytest.mark.parametrize("table", ["public.pastes", "public.content"])
def test_a_table_that_citus_distributes_is_refused_with_the_call_that_undoes_it(
    empty_db_dsn: str, table: str
) -> None:
    existing_application.build(empty_db_dsn)
    distribute(empty_db_dsn, table)
    before = catalogue(empty_db_dsn, *SCHEMAS)
    with pytest.raises(MigrationRefused) as caught:
        migrate(empty_db_dsn)
    assert f"{table}: is distributed by Citus" in caught.value.message
    assert f"select undistribute_table('{table}')" in str(caught.value.hint)
    assert catalogue(empty_db_dsn, *SCHEMAS) == before


def test_all_that_speaks_against_the_tables_is_said_at_once(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn, "alter table public.content set unlogged")
    distribute(empty_db_dsn, "public.pastes")
    with pytest.raises(MigrationRefused) as caught:
        migrate(empty_db_dsn)
    assert "is unlogged" in caught.value.message
    assert "is distributed by Citus" in caught.value.message


def test_other_tables_that_citus_distributes_are_no_obstacle(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn, "create table public.events (id bigint)")
    distribute(empty_db_dsn, "public.events")
    assert migrate(empty_db_dsn).changed


def test_doctor_names_a_bound_table_that_was_distributed_later(dsn: str) -> None:
    distribute(dsn, "public.pastes")
    with admin(dsn) as connection:
        [found] = [d for d in Queries(connection).diagnoses() if d.name == "distributed tables"]
    assert (found.verdict, found.detail) == ("fail", "distributed by Citus: pastes")
    assert "undistribute_table" in str(found.fix)


def test_a_distributed_table_can_have_no_retention_policy(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("create table public.events (id bigint primary key, at timestamptz not null)")
        distribute(dsn, "public.events")
        add = "select reaper.add_retention_policy('events', 'public.events', 'at', '30 days')"
        with pytest.raises(psycopg.Error, match="events is distributed by Citus") as caught:
            connection.execute(add)
        assert caught.value.sqlstate == BadArgument.sqlstate
