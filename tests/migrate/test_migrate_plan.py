"""Plans: what would be done, without doing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reaper.migrate import migrate, plan, render_sql
from reaper.migrate.step import Kind
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import Workshop, admin, one

SCHEMAS = ("public", "reaper", "reaper_internal", "procrastinate")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.tables("a")
    sql = "create index concurrently if not exists a_by_id on reaper.a (id);"
    made.migration("0002.index", sql, "drop index if exists reaper.a_by_id;", "-- transactional: false")
    made.function("f", "", "int", "select 1")
    return made


def test_the_plan_says_what_each_step_does_and_locks(empty_db_dsn: str, workshop: Workshop) -> None:
    made = plan(empty_db_dsn, folders=workshop.folders).as_dict()
    kinds = [step["kind"] for step in made["steps"]]
    assert [kind for kind in kinds if kind != "create_roles"] == [
        "create_ledger",
        "apply",
        "apply",
        "load_code",
    ]
    [first, second, code] = made["steps"][-3:]
    assert first == {
        "kind": "apply",
        "title": "apply 0001.a: Test step 0001.a.",
        "locks": "none",
        "transactional": True,
        "names": ["0001.a"],
        "dropped": [],
    }
    assert second["transactional"] is False
    assert code["names"] == ["functions/area/f.sql"]
    assert not made["empty"]


def test_plan_and_sql_change_nothing_on_an_empty_database_even_a_read_only_one(
    empty_db_dsn: str,
) -> None:
    with admin(empty_db_dsn) as connection:
        connection.execute("alter database reaper_empty set default_transaction_read_only = on")
    before = catalogue(empty_db_dsn, *SCHEMAS)
    assert plan(empty_db_dsn).names(Kind.APPLY)
    assert "-- locks: " in render_sql(empty_db_dsn)
    assert catalogue(empty_db_dsn, *SCHEMAS) == before
    assert one(empty_db_dsn, "select to_regnamespace('reaper')") is None


def test_a_plan_for_an_up_to_date_schema_is_empty(empty_db_dsn: str, workshop: Workshop) -> None:
    migrate(empty_db_dsn, folders=workshop.folders)
    assert plan(empty_db_dsn, folders=workshop.folders).empty


def test_the_plan_back_lists_the_rollbacks_and_the_code_that_goes(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    migrate(empty_db_dsn, folders=workshop.folders)
    made = plan(empty_db_dsn, folders=workshop.folders, to="base")
    assert [step.kind for step in made.steps] == [Kind.DROP_CODE, Kind.ROLL_BACK, Kind.ROLL_BACK]
    assert made.names(Kind.ROLL_BACK) == ["0002.index", "0001.a"]
    assert made.steps[0].dropped == ("functions/area/f.sql",)
