"""Going to a given migration, forward and back."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from reaper.errors import MigrationRefused, TableBusy, WouldLoseInformation
from reaper.migrate import migrate
from tests.support.migrate.release_folder import Workshop, admin, column, one, tables

REFUSAL = """
do $$ begin
    raise exception sqlstate 'RP007'
        using message = 'dropping reaper.b would lose 3 rows', hint = 'Move them first.';
end $$;
drop table reaper.b;
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.tables("a", "b", "c")
    made.function("f", "", "int", "select 1")
    made.code("views/v.sql", "create or replace view reaper.v as select id, reaper.f() from reaper.c;")
    return made


def functions(dsn: str) -> list[str]:
    return column(dsn, "select proname from pg_proc where pronamespace = 'reaper'::regnamespace")


def test_forward_to_an_older_migration_loads_no_code(empty_db_dsn: str, workshop: Workshop) -> None:
    report = migrate(empty_db_dsn, folders=workshop.folders, to="0002.b")
    assert (report.applied, report.version, report.code_loaded) == (["0001.a", "0002.b"], "0002.b", [])
    assert functions(empty_db_dsn) == []
    assert migrate(empty_db_dsn, folders=workshop.folders).applied == ["0003.c"]
    assert functions(empty_db_dsn) == ["f"]


def test_back_to_a_migration_drops_the_code_and_undoes_what_came_later(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    migrate(empty_db_dsn, folders=workshop.folders)
    report = migrate(empty_db_dsn, folders=workshop.folders, to="0001")
    assert report.rolled_back == ["0003.c", "0002.b"]
    assert any("install the release whose last migration is 0001.a" in note for note in report.notes)
    assert any("schema procrastinate is kept" in note for note in report.notes)
    assert tables(empty_db_dsn) == {"a"}
    assert functions(empty_db_dsn) == []


def test_base_undoes_everything_and_the_way_up_is_open_again(empty_db_dsn: str, workshop: Workshop) -> None:
    migrate(empty_db_dsn, folders=workshop.folders)
    report = migrate(empty_db_dsn, folders=workshop.folders, to="base")
    assert report.version is None
    assert tables(empty_db_dsn) == set()
    assert migrate(empty_db_dsn, folders=workshop.folders).applied == ["0001.a", "0002.b", "0003.c"]
    assert one(empty_db_dsn, "select count(*) from reaper.v") == 0


def test_an_unknown_target_is_answered_with_the_known_ones(empty_db_dsn: str, workshop: Workshop) -> None:
    with pytest.raises(MigrationRefused) as caught:
        migrate(empty_db_dsn, folders=workshop.folders, to="0042")
    assert caught.value.hint == "Known migrations: base, 0001.a, 0002.b, 0003.c"


def test_a_rollback_that_would_lose_information_refuses_at_once_and_the_code_is_restored(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.migration("0004.d", "create table if not exists reaper.d (id int);", REFUSAL)
    migrate(empty_db_dsn, folders=workshop.folders)
    with pytest.raises(WouldLoseInformation) as caught:
        migrate(empty_db_dsn, folders=workshop.folders, to="0001")
    assert "0004.d was not rolled back: dropping reaper.b would lose 3 rows" in caught.value.message
    assert caught.value.hint == "Move them first."
    assert tables(empty_db_dsn) == {"a", "b", "c", "d"}
    assert one(empty_db_dsn, "select count(*) from reaper.v") == 0
    assert not migrate(empty_db_dsn, folders=workshop.folders).changed


def test_a_refusal_half_way_leaves_the_steps_before_it_undone_and_the_code_out(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.migration("0002.b", "create table if not exists reaper.b (id int primary key);", REFUSAL)
    migrate(empty_db_dsn, folders=workshop.folders)
    with pytest.raises(WouldLoseInformation):
        migrate(empty_db_dsn, folders=workshop.folders, to="base")
    assert tables(empty_db_dsn) == {"a", "b"}
    assert functions(empty_db_dsn) == []
    assert migrate(empty_db_dsn, folders=workshop.folders).applied == ["0003.c"]
    assert functions(empty_db_dsn) == ["f"]


def test_a_busy_table_on_the_way_back_restores_the_code(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.code("views/v.sql", "create or replace view reaper.v as select 1 as x;")
    migrate(empty_db_dsn, folders=workshop.folders)
    with psycopg.connect(empty_db_dsn) as reader:
        reader.execute("select * from reaper.c")
        with pytest.raises(TableBusy):
            migrate(empty_db_dsn, folders=workshop.folders, to="0002", patience=0.2)
    assert functions(empty_db_dsn) == ["f"]
    assert tables(empty_db_dsn) == {"a", "b", "c"}


def test_the_way_back_of_an_index_runs_outside_a_transaction(empty_db_dsn: str, workshop: Workshop) -> None:
    sql = "create index concurrently if not exists c_by_id on reaper.c (id);"
    back = "drop index concurrently if exists reaper.c_by_id;"
    workshop.migration("0004.index", sql, back, "-- transactional: false")
    migrate(empty_db_dsn, folders=workshop.folders)
    migrate(empty_db_dsn, folders=workshop.folders, to="0003.c")
    assert one(empty_db_dsn, "select to_regclass('reaper.c_by_id')") is None


def test_a_dbas_view_upon_our_code_stops_the_way_back_before_anything_is_dropped(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    migrate(empty_db_dsn, folders=workshop.folders)
    with admin(empty_db_dsn) as connection:
        connection.execute("create view public.mine as select * from reaper.v")
    with pytest.raises(MigrationRefused, match=r"view public\.mine"):
        migrate(empty_db_dsn, folders=workshop.folders, to="base")
    assert one(empty_db_dsn, "select count(*) from public.mine") == 0
