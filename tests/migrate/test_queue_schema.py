"""Where procrastinate's tables are: a schema of any name, made by reaper or found there."""

from __future__ import annotations

import pytest

from reaper.errors import MigrationRefused
from reaper.migrate import Request, migrate, plan
from reaper.migrate.release_folders import installed_folders
from reaper.ops.doctor import Doctor
from tests.support.migrate.release_folder import admin, column, one

SHOP = Request(queue_schema="shop_queue")
ENQUEUE = "select reaper.enqueue_job('reaper:drain', 'drain:0', '{}')"
OWNER = "select distinct pg_get_userbyid(relowner)::text from pg_class where relname ~ '^procrastinate_.*s$'"


def install(dsn: str, schema: str) -> None:
    """As people do who use procrastinate without reaper."""
    procrastinate = installed_folders().procrastinate
    assert procrastinate is not None
    with admin(dsn) as connection:
        connection.execute(f"create schema if not exists {schema}; set search_path = {schema}")  # type: ignore[arg-type]
        connection.execute((procrastinate.parent / "schema.sql").read_text())  # type: ignore[arg-type]


def test_reaper_makes_the_queue_in_a_schema_of_any_name_and_remembers_it(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn, tables=SHOP)
    assert one(empty_db_dsn, "select to_regnamespace('procrastinate')") is None
    assert one(empty_db_dsn, ENQUEUE) is True
    assert one(empty_db_dsn, "select count(*) from shop_queue.procrastinate_jobs") == 1
    assert column(empty_db_dsn, "select lock from reaper.jobs") == ["drain:0"]
    assert plan(empty_db_dsn).empty
    with admin(empty_db_dsn) as connection:
        said = {diagnosis.name: diagnosis.verdict for diagnosis in Doctor.of_release(connection).examine()}
    assert (said["code"], said["grants"]) == ("ok", "ok")
    migrate(empty_db_dsn, to="base")


@pytest.mark.parametrize("schema", ["procrastinate", "shop_queue", "public"])
def test_an_installation_of_others_is_used_and_not_changed(empty_db_dsn: str, schema: str) -> None:
    install(empty_db_dsn, schema)
    report = migrate(empty_db_dsn, tables=Request(queue_schema=schema))
    assert report.procrastinate == []
    assert one(empty_db_dsn, "select to_regclass(%s)", f"{schema}.migration_files") is None
    assert column(empty_db_dsn, OWNER) == ["postgres"]
    with admin(empty_db_dsn) as connection:
        connection.execute("set role reaper_worker")
        connection.execute(ENQUEUE)  # type: ignore[arg-type]
        connection.execute("select * from reaper.rescue_jobs()")
    assert one(empty_db_dsn, f"select count(*) from {schema}.procrastinate_jobs") == 1
    assert plan(empty_db_dsn).empty


def test_an_installation_that_is_too_old_is_refused_by_what_it_lacks(empty_db_dsn: str) -> None:
    install(empty_db_dsn, "shop_queue")
    with admin(empty_db_dsn) as connection:
        connection.execute("drop function shop_queue.procrastinate_defer_jobs_v1")
    with pytest.raises(MigrationRefused, match=r"it has no procrastinate_defer_jobs_v1$"):
        migrate(empty_db_dsn, tables=SHOP)
    assert one(empty_db_dsn, "select to_regnamespace('reaper')") is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("public", "has no procrastinate yet"),
        ("shop", "has no procrastinate yet"),
        ("reaper", "of PostgreSQL or of reaper"),
        ("pg_queue", "of PostgreSQL or of reaper"),
        ("user", "reserved word"),
        ("open_to_all", "lets every login create objects"),
    ],
)
def test_a_schema_that_cannot_hold_the_queue_is_refused(empty_db_dsn: str, schema: str, problem: str) -> None:
    with admin(empty_db_dsn) as connection:
        connection.execute("create schema shop; create table shop.orders (id int)")
        connection.execute("create schema open_to_all; grant create on schema open_to_all to public")
    with pytest.raises(MigrationRefused, match=problem):
        migrate(empty_db_dsn, tables=Request(queue_schema=schema))


def test_a_queue_that_moves_takes_the_functions_along(dsn: str) -> None:
    install(dsn, "shop_queue")
    assert "functions/jobs/enqueue_job.sql" in migrate(dsn, tables=SHOP).code_loaded
    assert one(dsn, ENQUEUE) is True
    assert one(dsn, "select count(*) from shop_queue.procrastinate_jobs") == 1
    assert one(dsn, "select count(*) from procrastinate.procrastinate_jobs") == 0
