"""Plans and SQL for review."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate, plan, render_sql
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import Workshop, admin, one

SCHEMAS = ("public", "reaper", "procrastinate")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.tables("a")
    sql = "create index concurrently if not exists a_by_id on reaper.a (id);"
    made.migration("0002.index", sql, "drop index if exists reaper.a_by_id;", "-- transactional: false")
    made.function("f", "", "int", "select 1")
    return made


def run_by_psql(server: Postgres, database: str, script: str) -> None:
    command = [str(server.bin_dir / "psql"), "-X", "-q", "-h", server.host, "-U", "postgres", "-d", database]
    environment = {**os.environ, "PGPORT": str(server.port), "PGOPTIONS": "-c client_min_messages=warning"}
    done = subprocess.run(command, input=script, env=environment, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_plan_says_what_each_step_does_and_locks(empty_db_dsn: str, workshop: Workshop) -> None:
    made = plan(empty_db_dsn, source=workshop.source).as_dict()
    step = {"id": "0001.a", "summary": "Test step 0001.a.", "locks": "none", "transactional": True}
    assert made["migrations"][0] == step
    assert made["migrations"][1]["transactional"] is False
    assert made["code"] == ["functions/area/f.sql"]
    assert not made["empty"]


def test_plan_and_sql_change_nothing_on_an_empty_database_even_a_read_only_one(
    empty_db_dsn: str,
) -> None:
    with admin(empty_db_dsn) as connection:
        connection.execute("alter database reaper_empty set default_transaction_read_only = on")
    before = catalogue(empty_db_dsn, *SCHEMAS)
    assert plan(empty_db_dsn).migrations
    assert "-- locks: " in render_sql(empty_db_dsn)
    assert catalogue(empty_db_dsn, *SCHEMAS) == before
    assert one(empty_db_dsn, "select to_regnamespace('reaper')") is None


def test_a_plan_for_an_up_to_date_schema_is_empty(empty_db_dsn: str, workshop: Workshop) -> None:
    migrate(empty_db_dsn, source=workshop.source)
    assert plan(empty_db_dsn, source=workshop.source).empty
    assert "nothing would be run" in render_sql(empty_db_dsn, source=workshop.source)


def test_the_plan_back_lists_the_rollbacks_and_the_code_that_goes(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    migrate(empty_db_dsn, source=workshop.source)
    made = plan(empty_db_dsn, source=workshop.source, to="base").as_dict()
    assert [step["id"] for step in made["rollbacks"]] == ["0002.index", "0001.a"]
    assert made["dropped_code"] == ["functions/area/f.sql"]


def test_the_sql_run_by_psql_ends_where_the_migration_ends(
    empty_db_dsn: str, dsn: str, server: Postgres
) -> None:
    run_by_psql(server, "reaper_empty", render_sql(empty_db_dsn))
    assert catalogue(empty_db_dsn, *SCHEMAS) == catalogue(dsn, *SCHEMAS)
    assert not migrate(empty_db_dsn).changed


def test_the_sql_of_the_way_back_run_by_psql_undoes_everything(
    empty_db_dsn: str, workshop: Workshop, server: Postgres
) -> None:
    migrate(empty_db_dsn, source=workshop.source)
    run_by_psql(server, "reaper_empty", render_sql(empty_db_dsn, source=workshop.source, to="base"))
    assert one(empty_db_dsn, "select to_regclass('reaper.a')") is None
    assert plan(empty_db_dsn, source=workshop.source).as_dict()["code"] == ["functions/area/f.sql"]
    assert migrate(empty_db_dsn, source=workshop.source).applied == ["0001.a", "0002.index"]
