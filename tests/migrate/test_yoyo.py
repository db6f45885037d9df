"""The migrations by yoyo alone: `yoyo apply` ends where `reaper migrate` ends, in either order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate
from reaper.migrate.connection import migrator_connection
from reaper.migrate.migration_files import migration_ids, read_migrations
from reaper.migrate.release_folders import installed_folders
from tests.support.migrate import existing_application
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import admin, column, one
from tests.support.migrate.yoyo_commands import ROOT, shell, statuses, url, yoyo

SCHEMAS = ("public", "reaper", "procrastinate")
# What two ways to the same release must have left in the rows that say what is installed.
RECORDS = """
    select 'migration', id, sha256 from reaper.migration_files
    union all select 'code', path, sha256 from reaper.code_files
    union all select 'applied', migration_id, migration_hash from reaper._yoyo_migration
    union all select 'bound ' || name, bound_table, columns::text from reaper.bindings
    union all select kind, table_name, name from reaper.provenance
    union all select 'backend', name, state from reaper.backend_list
    order by 1, 2, 3
"""


def everything(dsn: str) -> list[str]:
    """The catalogue without yoyo's tables in public, which only yoyo makes, and what the ledgers say."""
    with admin(dsn) as connection:
        records = [str(row) for row in connection.execute(RECORDS)]
    lines = catalogue(dsn, *SCHEMAS)
    return [
        line for line in lines if not re.search(r"public\._?yoyo_|^constraint \| _?yoyo_", line)
    ] + records


@pytest.fixture
def migrated(maintenance: psycopg.Connection[Any], server: Postgres) -> Iterator[list[str]]:
    """What `reaper migrate` leaves in a fresh database."""
    name = sql.Identifier("reaper_by_migrate")
    maintenance.execute(sql.SQL("create database {} strategy file_copy").format(name))
    migrate(server.dsn("reaper_by_migrate"))
    yield everything(server.dsn("reaper_by_migrate"))
    maintenance.execute(sql.SQL("drop database {} with (force)").format(name))


@pytest.mark.slow
def test_yoyo_alone_ends_where_reaper_migrate_ends_and_leaves_it_nothing_to_do(
    empty_db_dsn: str, migrated: list[str]
) -> None:
    applied = yoyo(empty_db_dsn, "apply")
    assert applied.code == 0, applied.text
    assert everything(empty_db_dsn) == migrated
    assert not migrate(empty_db_dsn).changed
    assert statuses(yoyo(empty_db_dsn, "list")) == {"A"}
    assert statuses(yoyo(empty_db_dsn, "list", schema="reaper")) == {"A"}


@pytest.mark.slow
def test_yoyo_after_reaper_migrate_sees_its_ledger_and_without_it_applies_all_again_to_the_same_end(
    empty_db_dsn: str, migrated: list[str]
) -> None:
    migrate(empty_db_dsn)
    assert statuses(yoyo(empty_db_dsn, "list", schema="reaper")) == {"A"}
    assert yoyo(empty_db_dsn, "apply", schema="reaper").code == 0
    assert everything(empty_db_dsn) == migrated
    assert statuses(yoyo(empty_db_dsn, "list")) == {"U"}
    again = yoyo(empty_db_dsn, "apply")
    assert again.code == 0, again.text
    assert everything(empty_db_dsn) == migrated
    assert statuses(yoyo(empty_db_dsn, "list")) == {"A"}


def test_every_migration_bears_being_applied_twice(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn)
    before = everything(empty_db_dsn)
    with migrator_connection(empty_db_dsn) as connection:
        for migration in read_migrations(installed_folders().migrations):
            for statement in migration.statements:
                connection.execute(statement)
    assert everything(empty_db_dsn) == before


@pytest.mark.slow
def test_a_ledger_of_yoyo_in_a_schema_reaper_that_a_dba_made_becomes_the_one_of_reaper(
    empty_db_dsn: str, migrated: list[str]
) -> None:
    with admin(empty_db_dsn) as connection:
        connection.execute("create schema reaper")
    applied = yoyo(empty_db_dsn, "apply", schema="reaper")
    assert applied.code == 0, applied.text
    assert everything(empty_db_dsn) == migrated
    assert one(empty_db_dsn, "select count(*) from pg_tables where schemaname = 'public'") == 2
    assert column(empty_db_dsn, "select pid from reaper.yoyo_lock") == []


def test_the_lock_row_of_the_yoyo_that_runs_the_migration_is_not_taken_for_a_dead_ones(dsn: str) -> None:
    """Else a second yoyo could start while the first one is still loading functions."""
    with admin(dsn) as connection:
        connection.execute("insert into reaper.yoyo_lock (pid) values (%s)", (os.getpid(),))
        migrate(dsn)
        assert column(dsn, "select pid from reaper.yoyo_lock") == [os.getpid()]


@pytest.mark.slow
def test_in_a_cluster_without_our_roles_yoyo_creates_them_also_for_a_login_that_is_no_superuser() -> None:
    with Postgres.start() as cluster:
        with admin(cluster.dsn()) as connection:
            connection.execute("create role builder login createrole")
            connection.execute("create database app owner builder")
        dsn = cluster.dsn("app", user="builder")
        applied = yoyo(dsn, "apply")
        assert applied.code == 0, applied.text
        assert not migrate(dsn).changed
        assert one(dsn, "select pg_get_userbyid(relowner) from pg_class where oid = 'reaper.runs'::regclass")


def test_roles_are_created_by_the_same_words_for_yoyo_as_for_reaper_migrate() -> None:
    def words(text: str) -> str:
        return " ".join(re.sub(r"--.*", "", text).split())

    folders = installed_folders()
    first = folders.migrations / f"{migration_ids(folders.migrations)[0]}.sql"
    assert words((folders.sql / "roles.sql").read_text()) in words(first.read_text())


@pytest.mark.slow
def test_tables_of_an_application_are_refused_by_name_of_the_command_that_adopts_them(
    empty_db_dsn: str,
) -> None:
    existing_application.build(empty_db_dsn)
    refused = yoyo(empty_db_dsn, "apply")
    assert refused.code != 0
    assert "public.content or public.pastes exists, and no table is bound" in refused.text
    assert "Run reaper migrate" in refused.text
    migrate(empty_db_dsn)
    applied = yoyo(empty_db_dsn, "apply")
    assert applied.code == 0, applied.text
    assert not migrate(empty_db_dsn).changed
    assert one(empty_db_dsn, "select count(*) from reaper.pastes") == 60


def test_a_database_that_is_not_utf8_is_refused_by_the_first_migration(
    maintenance: psycopg.Connection[Any], server: Postgres
) -> None:
    maintenance.execute(
        "create database reaper_latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'"
        + (" locale_provider 'libc'" if server.version >= 17 else "")
    )
    refused = yoyo(server.dsn("reaper_latin"), "apply")
    assert refused.code != 0
    assert "has encoding LATIN1" in refused.text
    assert one(server.dsn("reaper_latin"), "select to_regnamespace('reaper')") is None
    maintenance.execute("drop database reaper_latin with (force)")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["--all"], ["--revision", "0003"]])
def test_a_rollback_by_yoyo_is_refused_while_functions_are_loaded_that_need_the_tables(
    empty_db_dsn: str, arguments: list[str]
) -> None:
    assert yoyo(empty_db_dsn, "apply").code == 0
    before = everything(empty_db_dsn)
    refused = yoyo(empty_db_dsn, "rollback", *arguments)
    assert refused.code != 0
    assert "reaper migrate --to" in refused.text
    assert everything(empty_db_dsn) == before


@pytest.mark.slow
def test_after_a_rollback_by_reaper_migrate_the_ledger_of_yoyo_is_unmarked_and_the_way_up_is_open(
    empty_db_dsn: str, migrated: list[str]
) -> None:
    assert yoyo(empty_db_dsn, "apply").code == 0
    migrate(empty_db_dsn, to="base")
    assert yoyo(empty_db_dsn, "unmark", "--all").code == 0
    applied = yoyo(empty_db_dsn, "apply")
    assert applied.code == 0, applied.text
    assert everything(empty_db_dsn) == migrated


def documented() -> list[str]:
    """The commands of the section, in its order."""
    page = (ROOT / "docs" / "operations.md").read_text()
    section = page.split("\n## Migrations by yoyo\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [line.split("  #")[0] for block in blocks for line in block.splitlines()]


def test_the_documented_commands_work_in_their_order(empty_db_dsn: str, migrated: list[str]) -> None:
    commands = documented()
    assert len([line for line in commands if line.startswith("yoyo apply")]) >= 1
    variables = {"DATABASE": url(empty_db_dsn), "REAPER_DATABASE_URL": empty_db_dsn}
    for command in commands:
        done = shell(command.replace("?schema", "&schema"), **variables)
        assert done.code == 0, (command, done.text)
    assert everything(empty_db_dsn) == migrated
