"""The migrator as such: once, twice, four at once, after a kill, with edited files."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from yoyo import read_migrations
from yoyo.connections import get_backend

from reaper.dev.embedded import Postgres
from reaper.errors import BadMigration, MigrationRefused, SchemaTooOld
from reaper.migrate import check_schema, migrate, schema_version
from tests.support.migrate.release_folder import Workshop, admin, column, one, tables, wait_until

MIGRATE = """
import sys
from pathlib import Path
from reaper.migrate.release_folders import ReleaseFolders
from reaper.migrate import migrate
migrate(sys.argv[1], folders=ReleaseFolders(Path(sys.argv[2]), Path(sys.argv[3])), patience=30)
"""
WAITING = """
    select exists (select from pg_stat_activity
                    where application_name = 'reaper:migrate' and wait_event_type = 'Lock')
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def databases(server: Postgres) -> Iterator[list[str]]:
    names = [f"reaper_many_{number}" for number in range(4)]
    with admin(server.dsn()) as connection, ExitStack() as stack:
        for name in names:
            connection.execute(f"create database {name}")
            stack.callback(connection.execute, f"drop database {name} with (force)")
        yield [server.dsn(name) for name in names]


def in_the_background(dsn: str, workshop: Workshop) -> subprocess.Popen[bytes]:
    folders = [str(workshop.folders.migrations), str(workshop.folders.sql)]
    return subprocess.Popen([sys.executable, "-c", MIGRATE, dsn, *folders], stderr=subprocess.PIPE)


def killed_while_waiting(dsn: str, workshop: Workshop, obstacle: psycopg.Connection[Any]) -> None:
    """Migrate in a process that is killed when it waits for the obstacle, which is then removed."""
    migrator = in_the_background(dsn, workshop)
    wait_until(dsn, WAITING)
    migrator.send_signal(signal.SIGKILL)
    migrator.communicate()
    obstacle.close()
    wait_until(
        dsn, "select not exists (select from pg_stat_activity where application_name = 'reaper:migrate')"
    )


def test_a_second_run_changes_nothing_and_says_so(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.tables("a", "b")
    workshop.function("f", "", "int", "select 1")
    first = migrate(empty_db_dsn, folders=workshop.folders)
    assert (first.applied, first.code_loaded) == (["0001.a", "0002.b"], ["functions/area/f.sql"])
    before = column(empty_db_dsn, "select xmin::text from pg_class union all select xmin::text from pg_proc")
    second = migrate(empty_db_dsn, folders=workshop.folders)
    after = column(empty_db_dsn, "select xmin::text from pg_class union all select xmin::text from pg_proc")
    assert not second.changed
    assert sorted(after) == sorted(before)


def test_four_migrators_at_once_all_succeed_and_each_step_runs_once(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.tables("a", "b")
    sql = "create index concurrently if not exists a_by_id on reaper.a (id);"
    workshop.migration("0003.index", sql, "drop index if exists reaper.a_by_id;", "-- transactional: false")
    start = threading.Barrier(4)

    def run(_: int) -> list[str]:
        start.wait()
        return migrate(empty_db_dsn, folders=workshop.folders).applied

    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(run, range(4)))
    assert sorted(applied) == [[], [], [], ["0001.a", "0002.b", "0003.index"]]


def test_migrators_of_four_databases_race_for_the_roles_of_one_cluster(
    databases: list[str], workshop: Workshop
) -> None:
    workshop.tables("a")
    start = threading.Barrier(4)

    def run(dsn: str) -> list[str]:
        start.wait()
        return migrate(dsn, folders=workshop.folders).applied

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, databases)) == [["0001.a"]] * 4


def test_a_run_that_was_killed_inside_a_transaction_is_taken_up_again(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.tables("a")
    sql = "set local lock_timeout = 0;\ncreate table reaper.b (id int);\nselect pg_advisory_xact_lock(7);"
    workshop.migration("0002.b", sql)
    obstacle = psycopg.connect(empty_db_dsn, autocommit=True)
    obstacle.execute("select pg_advisory_lock(7)")
    killed_while_waiting(empty_db_dsn, workshop, obstacle)
    assert tables(empty_db_dsn) == {"a"}
    assert migrate(empty_db_dsn, folders=workshop.folders).applied == ["0002.b"]


def test_an_index_build_that_was_killed_leaves_no_invalid_index_behind(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.tables("a")
    migrate(empty_db_dsn, folders=workshop.folders)
    sql = "create index concurrently if not exists a_by_id on reaper.a (id);"
    workshop.migration("0002.index", sql, "", "-- transactional: false")
    obstacle = psycopg.connect(empty_db_dsn)
    obstacle.execute("insert into reaper.a values (1)")
    migrator = in_the_background(empty_db_dsn, workshop)
    wait_until(empty_db_dsn, WAITING)
    with admin(empty_db_dsn) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'reaper:migrate' and wait_event_type = 'Lock'"
        )
    migrator.communicate()
    obstacle.close()
    valid = "select indisvalid from pg_index where indexrelid = 'reaper.a_by_id'::regclass"
    assert one(empty_db_dsn, valid) is False
    report = migrate(empty_db_dsn, folders=workshop.folders)
    assert report.dropped_indexes == ['"reaper"."a_by_id"']
    assert one(empty_db_dsn, valid) is True


def test_the_lock_row_of_a_killed_yoyo_is_cleared(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.tables("a")
    migrate(empty_db_dsn, folders=workshop.folders)
    with admin(empty_db_dsn) as connection:
        connection.execute("insert into reaper.yoyo_lock (pid) values (1)")
    workshop.tables("a", "b")
    assert migrate(empty_db_dsn, folders=workshop.folders).applied == ["0002.b"]
    assert column(empty_db_dsn, "select pid from reaper.yoyo_lock") == []


def test_yoyo_itself_sees_what_was_applied(empty_db_dsn: str, workshop: Workshop, server: Postgres) -> None:
    workshop.tables("a", "b")
    migrate(empty_db_dsn, folders=workshop.folders, to="0001.a")
    uri = f"postgresql+psycopg://postgres@/reaper_empty?host={server.host}&port={server.port}&schema=reaper"
    with get_backend(uri) as backend:
        pending = backend.to_apply(read_migrations(str(workshop.folders.migrations)))
    assert [m.id for m in pending] == ["0002.b"]


def test_an_edited_file_that_is_already_applied_is_refused_by_name(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.tables("a")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.migration("0001.a", "create table if not exists reaper.a (id bigint);")
    with pytest.raises(MigrationRefused, match=r"edited after they were applied: 0001\.a"):
        migrate(empty_db_dsn, folders=workshop.folders)


def test_line_ends_of_another_system_do_not_count_as_an_edit(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.tables("a")
    migrate(empty_db_dsn, folders=workshop.folders)
    path = workshop.folders.migrations / "0001.a.sql"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert not migrate(empty_db_dsn, folders=workshop.folders).changed


def test_an_older_release_refuses_a_newer_schema_but_its_workers_run_on(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.tables("a", "b")
    migrate(empty_db_dsn, folders=workshop.folders)
    for name in ("0002.b.sql", "0002.b.rollback.sql"):
        (workshop.folders.migrations / name).unlink()
    with pytest.raises(MigrationRefused, match=r"does not know: 0002\.b"):
        migrate(empty_db_dsn, folders=workshop.folders)
    with admin(empty_db_dsn) as connection:
        check_schema(connection, workshop.folders)


def test_a_worker_refuses_an_older_schema(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.tables("a", "b")
    with admin(empty_db_dsn) as connection:
        with pytest.raises(SchemaTooOld, match="has no schema reaper"):
            check_schema(connection, workshop.folders)
        migrate(empty_db_dsn, folders=workshop.folders, to="0001")
        assert schema_version(connection) == "0001.a"
        with pytest.raises(SchemaTooOld, match=r"is at 0001\.a"):
            check_schema(connection, workshop.folders)


def test_a_failing_step_leaves_the_steps_before_it_applied(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.tables("a")
    workshop.migration("0002.b", "create table reaper.b (id int);\nselect 1 / 0;")
    with pytest.raises(Exception, match=r"0002\.b was not applied: division by zero"):
        migrate(empty_db_dsn, folders=workshop.folders)
    assert tables(empty_db_dsn) == {"a"}
    assert column(empty_db_dsn, "select id from reaper.migration_files") == ["0001.a"]


def test_a_step_whose_condition_holds_counts_as_applied_without_running(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.migration("0001.a", "create table reaper.a (id int);", "", "-- skip-if: select true")
    assert migrate(empty_db_dsn, folders=workshop.folders).applied == ["0001.a"]
    assert tables(empty_db_dsn) == set()


def test_every_broken_rule_of_the_folder_is_reported(empty_db_dsn: str, workshop: Workshop) -> None:
    folder = workshop.folders.migrations
    (folder / "0001.no-locks.sql").write_text("-- Says what it does.\nselect 1;\n")
    (folder / "two.sql").write_text("-- locks: none\n-- depends: 0009.nothing\nselect 1;\n")
    (folder / "two.rollback.sql").write_text("select 1;\n")
    with pytest.raises(BadMigration) as caught:
        migrate(empty_db_dsn, folders=workshop.folders)
    for words in (
        "0001.no-locks: no '-- locks:'",
        "0001.no-locks: no 0001.no-locks.rollback.sql",
        "two: the name is not of the form NNNN.name",
        "two: no header",
        "two.rollback.sql: no header",
        "two.rollback.sql: no '-- locks:'",
        "depends on 0009.nothing",
    ):
        assert words in caught.value.message


def test_the_way_the_application_was_warned_reaches_the_report(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.tables("a")
    workshop.migration("0002.loud", "do $$ begin raise warning 'mind the gap'; end $$;")
    report = migrate(empty_db_dsn, folders=workshop.folders)
    assert report.warnings == ["mind the gap"]
