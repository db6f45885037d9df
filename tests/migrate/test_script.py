"""The script of `reaper migrate --sql` is the list of steps; run by psql it ends where the migration ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate, plan, render_sql
from reaper.migrate.connection import migrator_connection
from reaper.migrate.lock_retry import LockRetry
from reaper.migrate.migration_lock import MigrationLock
from reaper.migrate.plan import Plan
from reaper.migrate.release_folders import ReleaseFolders, installed_folders
from reaper.migrate.render import render
from reaper.migrate.runner import Runner
from reaper.migrate.step import Kind
from tests.support.cloned_databases import cloned
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.existing_application import FOREIGN_KEY, build
from tests.support.migrate.release_folder import Workshop, admin, one, psql

SCHEMAS = ("public", "reaper", "reaper_internal", "procrastinate")
TWIN = "reaper_twin"
# Times and the identities of log entries are all that may differ.
LEDGER = """
    select 'applied', migration_id, migration_hash from {s}._yoyo_migration
    union all select 'log', migration_id, concat_ws(' ', migration_hash, operation, username, hostname)
                from {s}._yoyo_log
    union all select 'layout', version::text, null from {s}._yoyo_version
    union all select 'lock row', pid::text, null from {s}.yoyo_lock
    union all select 'checksum', id, sha256 from {s}.migration_files
"""
CODE = "select 'code', path, sha256 from reaper.code_files"
PROVENANCE = "select 'made', concat_ws(' ', kind, table_name, name), null from reaper.provenance"


def rows(connection: psycopg.Connection[Any], query: str) -> list[str]:
    return [str(row) for row in connection.execute(query.encode())]


def state(dsn: str) -> list[str]:
    """The catalogue and all that the ledgers say."""
    with admin(dsn) as connection:
        there = [
            row[0]
            for row in connection.execute("select tablename from pg_tables where schemaname = 'reaper'")
        ]
        found = rows(connection, LEDGER.format(s="reaper")) + rows(connection, CODE)
        if connection.execute("select to_regclass('procrastinate._yoyo_log')").fetchone() != (None,):
            found += rows(connection, LEDGER.format(s="procrastinate"))
        if "provenance" in there:
            found += rows(connection, PROVENANCE)
    return catalogue(dsn, *SCHEMAS) + sorted(found)


def small_release(folder: Path) -> Workshop:
    """A release with everything that a changed file can do to its object, and to what depends on it."""
    release = Workshop(folder)
    release.tables("a")
    release.function("grows", "p_a int default 1", "int", "select p_a")
    release.function("gone", "", "int", "select 1")
    release.function("same", "", "int", "select 1")
    release.code("views/narrow.sql", "create or replace view reaper.narrow as select 1 as x, 2 as y;")
    release.code(
        "views/upon.sql", "create or replace view reaper.upon as select y, reaper.grows() from reaper.narrow;"
    )
    release.code("views/gone.sql", "create or replace view reaper.gone as select reaper.gone();")
    return release


def change(release: Workshop) -> None:
    release.function("grows", "p_a int default 1, p_b int default 1", "int", "select p_a + p_b")
    release.function("same", "", "int", "select 2")
    release.function("new", "", "int", "select 3")
    release.code("views/narrow.sql", "create or replace view reaper.narrow as select 5 as y;")
    for path in ("functions/area/gone.sql", "views/gone.sql"):
        (release.folders.sql / path).unlink()
    sql = "create index concurrently if not exists a_by_id on reaper.a (id);"
    release.migration("0002.index", sql, "drop index if exists reaper.a_by_id;", "-- transactional: false")
    release.migration("0003.skipped", "create table reaper.skipped (id int);", "", "-- skip-if: select true")
    release.migration("0004.b", "create table reaper.b (id int);", "drop table reaper.b;")


@dataclass(frozen=True)
class Start:
    """A database, the release that it is to be migrated to, and how far."""

    folders: ReleaseFolders
    to: str | None = None


def fresh(_dsn: str, _folder: Path) -> Start:
    return Start(installed_folders())


def adopted(dsn: str, _folder: Path) -> Start:
    build(dsn, "create index mine on pastes (expires_at)")
    return Start(installed_folders())


def linked(dsn: str, _folder: Path) -> Start:
    build(dsn, FOREIGN_KEY)
    return Start(installed_folders())


def half_way(_dsn: str, _folder: Path) -> Start:
    return Start(installed_folders(), "0009")


def the_other_half(dsn: str, _folder: Path) -> Start:
    migrate(dsn, to="0009")
    return Start(installed_folders())


def back(dsn: str, _folder: Path) -> Start:
    migrate(dsn)
    return Start(installed_folders(), "base")


def back_from_adopted(dsn: str, _folder: Path) -> Start:
    build(dsn)
    migrate(dsn)
    return Start(installed_folders(), "0001")


def changed_code(dsn: str, folder: Path) -> Start:
    release = small_release(folder)
    migrate(dsn, folders=release.folders)
    change(release)
    return Start(release.folders)


def after_accidents(dsn: str, folder: Path) -> Start:
    """What killed runs leave behind: a schema of a DBA, an index, a lock row, things of another owner."""
    release = small_release(folder)
    with admin(dsn) as connection:
        connection.execute("create schema reaper")
    migrate(dsn, folders=release.folders)
    change(release)
    with admin(dsn) as connection:
        connection.execute("insert into reaper.yoyo_lock (pid) values (1)")
        connection.execute("alter function reaper.same() owner to postgres")
        connection.execute("create index a_by_id on reaper.a (id)")
        connection.execute(
            "update pg_index set indisvalid = false where indexrelid = 'reaper.a_by_id'::regclass"
        )
    return Start(release.folders)


Prepare = Callable[[str, Path], Start]
STARTS: tuple[Prepare, ...] = (
    *(fresh, adopted, linked, half_way, the_other_half),
    *(back, back_from_adopted, changed_code, after_accidents),
)


@pytest.fixture(params=STARTS, ids=lambda prepare: prepare.__name__)
def start(request: pytest.FixtureRequest, empty_db_dsn: str, tmp_path: Path) -> Start:
    """A database that is about to be migrated."""
    prepare: Prepare = request.param
    return prepare(empty_db_dsn, tmp_path)


@pytest.fixture
def twin(start: Start, maintenance: psycopg.Connection[Any], server: Postgres) -> Iterator[str]:
    """A copy of that database."""
    assert start
    with cloned(maintenance, server, "reaper_empty", TWIN):
        yield server.dsn(TWIN)


@pytest.mark.slow(but=1)
def test_the_script_run_by_psql_ends_in_the_catalogue_and_the_ledger_of_the_migration(
    start: Start, empty_db_dsn: str, twin: str, server: Postgres
) -> None:
    script = render_sql(twin, to=start.to, folders=start.folders)
    migrate(empty_db_dsn, to=start.to, folders=start.folders)
    assert psql(server, twin, script) == (0, "")
    assert state(twin) == state(empty_db_dsn)
    assert plan(twin, to=start.to, folders=start.folders).empty


def recorded(dsn: str, made: Plan) -> list[str]:
    """What the runner sends to the server when it takes the steps, without what only reads."""
    sent: list[str] = []

    class Recorder(psycopg.Cursor[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
            sent.append(query if isinstance(query, str) else query.as_string(self))
            return super().execute(query, *arguments, **options)

    with migrator_connection(dsn) as holder, migrator_connection(dsn, "reaper") as connection:
        lock = MigrationLock(holder)
        lock.acquire(lambda _line: None)
        connection.cursor_factory = Recorder
        Runner(connection, lock, LockRetry(dsn), lambda _line: None).run(made)
    return [text.strip() for text in sent if not text.lstrip().startswith("select")]


@pytest.mark.slow(but=3)
def test_every_statement_that_ran_is_in_the_script_in_the_same_order(start: Start, empty_db_dsn: str) -> None:
    made = plan(empty_db_dsn, to=start.to, folders=start.folders)
    script = render(made)
    ran = recorded(empty_db_dsn, made)
    assert len(ran) > len(made.steps)
    position = 0
    for text in ran:
        found = script.find(text, position)
        assert found >= 0, f"not in the script, or not there: {text}"
        position = found + len(text)
    assert all(step.skip_if in script for step in made.steps if step.skip_if)
    assert all(f"-- {step.title}\n-- locks: {step.locks}\n" in script for step in made.steps)


def test_what_killed_runs_left_behind_is_part_of_the_steps(empty_db_dsn: str, tmp_path: Path) -> None:
    start = after_accidents(empty_db_dsn, tmp_path)
    kinds = [step.kind for step in plan(empty_db_dsn, folders=start.folders).steps]
    assert kinds[:2] == [Kind.CLEAR_LOCK_ROW, Kind.DROP_UNFINISHED_INDEX]


def test_what_has_another_owner_is_given_to_ours_also_when_nothing_else_is_to_do(
    empty_db_dsn: str, tmp_path: Path
) -> None:
    release = small_release(tmp_path)
    migrate(empty_db_dsn, folders=release.folders)
    with admin(empty_db_dsn) as connection:
        connection.execute("alter table reaper.a owner to postgres")
    assert [step.kind for step in plan(empty_db_dsn, folders=release.folders).steps] == [Kind.GIVE_TO_OWNER]
    assert migrate(empty_db_dsn, folders=release.folders).changed
    owner = "select relowner::regrole::text from pg_class where oid = 'reaper.a'::regclass"
    assert one(empty_db_dsn, owner) == "reaper_owner"


def test_the_script_of_an_up_to_date_schema_runs_nothing(empty_db_dsn: str, tmp_path: Path) -> None:
    release = small_release(tmp_path)
    migrate(empty_db_dsn, folders=release.folders)
    assert render_sql(empty_db_dsn, folders=release.folders) == (
        "-- The schema is up to date: nothing would be run.\n"
    )


def test_what_a_dba_built_after_the_script_was_written_is_not_dropped_by_it(
    empty_db_dsn: str, tmp_path: Path, server: Postgres
) -> None:
    start = changed_code(empty_db_dsn, tmp_path)
    script = render_sql(empty_db_dsn, folders=start.folders)
    with admin(empty_db_dsn) as connection:
        connection.execute("create view public.mine as select reaper.gone() as x")
    code, errors = psql(server, empty_db_dsn, script)
    assert code != 0
    assert "view public.mine depends on function gone()" in errors
    with admin(empty_db_dsn) as connection:
        assert connection.execute("select x from public.mine").fetchone() == (1,)
