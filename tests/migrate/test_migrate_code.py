"""Functions, triggers and views: replaced when their files change."""

from __future__ import annotations

from pathlib import Path

import pytest

from reaper.errors import MigrationError, MigrationRefused
from reaper.migrate import migrate
from tests.support.migrate.release_folder import Workshop, admin, column, one

SIGNATURES = (
    "select oid::regprocedure::text from pg_proc where pronamespace = 'reaper'::regnamespace order by 1"
)
TRIGGER = """
create or replace trigger watch before insert on reaper.a for each row execute function reaper.watch_a();
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.tables("a")
    return made


def add_trigger(workshop: Workshop) -> None:
    head = "create or replace function reaper.watch_a() returns trigger language plpgsql as"
    workshop.code("functions/area/watch_a.sql", f"{head} $$ begin return new; end $$;")
    workshop.code("triggers/watch.sql", TRIGGER)


def test_only_files_that_changed_are_loaded_again(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.function("f", "", "int", "select 1")
    workshop.function("g", "", "int", "select 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.function("g", "", "int", "select 2")
    report = migrate(empty_db_dsn, folders=workshop.folders)
    assert report.code_loaded == ["functions/area/g.sql"]
    assert one(empty_db_dsn, "select reaper.g()") == 2


def test_a_function_may_call_one_that_is_loaded_after_it(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.function("early", "", "int", "select reaper.late()")
    workshop.function("late", "", "int", "select 3")
    migrate(empty_db_dsn, folders=workshop.folders)
    assert one(empty_db_dsn, "select reaper.early()") == 3


def test_a_signature_that_grew_leaves_no_overload_behind(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.function("f", "p_a int default 1", "int", "select p_a")
    workshop.code("views/seen.sql", "create or replace view reaper.seen as select reaper.f() as value;")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.function("f", "p_a int default 1, p_b int default 1", "int", "select p_a + p_b")
    migrate(empty_db_dsn, folders=workshop.folders)
    assert column(empty_db_dsn, SIGNATURES) == ["reaper.f(integer,integer)"]
    assert one(empty_db_dsn, "select value from reaper.seen") == 2


def test_a_new_return_type_is_loaded_by_dropping_the_old_function(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.function("f", "", "int", "select 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.function("f", "", "text", "select 'one'")
    migrate(empty_db_dsn, folders=workshop.folders)
    assert one(empty_db_dsn, "select reaper.f()") == "one"
    assert (
        one(empty_db_dsn, "select proowner::regrole::text from pg_proc where proname = 'f'") == "reaper_owner"
    )


def test_a_function_that_becomes_a_procedure_is_replaced(empty_db_dsn: str, workshop: Workshop) -> None:
    path = workshop.function("f", "", "void", "select")
    migrate(empty_db_dsn, folders=workshop.folders)
    path.write_text("create or replace procedure reaper.f() language sql as $$ select $$;")
    migrate(empty_db_dsn, folders=workshop.folders)
    assert one(empty_db_dsn, "select prokind::text from pg_proc where proname = 'f'") == "p"


def test_a_view_that_loses_a_column_is_made_again_with_the_views_upon_it(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.code("views/v.sql", "create or replace view reaper.v as select 1 as x, 2 as y;")
    workshop.code("views/w.sql", "create or replace view reaper.w as select y from reaper.v;")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.code("views/v.sql", "create or replace view reaper.v as select 5 as y;")
    migrate(empty_db_dsn, folders=workshop.folders)
    assert one(empty_db_dsn, "select y from reaper.w") == 5


def test_a_trigger_comes_back_when_a_function_that_it_uses_had_to_be_dropped(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    add_trigger(workshop)
    workshop.code("triggers/watch.sql", TRIGGER.replace("execute", "when (reaper.is_odd(new.id)) execute"))
    workshop.function("is_odd", "p_id int", "boolean", "select p_id % 2 = 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.function("is_odd", "p_value int", "boolean", "select p_value % 2 = 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    assert column(empty_db_dsn, "select tgname from pg_trigger where not tgisinternal") == ["watch"]


def test_the_object_of_a_file_that_vanished_is_dropped(empty_db_dsn: str, workshop: Workshop) -> None:
    add_trigger(workshop)
    workshop.code("views/v.sql", "create or replace view reaper.v as select 1 as x;")
    migrate(empty_db_dsn, folders=workshop.folders)
    for path in ("functions/area/watch_a.sql", "triggers/watch.sql", "views/v.sql"):
        (workshop.folders.sql / path).unlink()
    report = migrate(empty_db_dsn, folders=workshop.folders)
    assert set(report.code_dropped) == {"functions/area/watch_a.sql", "triggers/watch.sql", "views/v.sql"}
    assert column(empty_db_dsn, SIGNATURES) == []
    assert one(empty_db_dsn, "select to_regclass('reaper.v')") is None


def test_a_file_that_moved_to_another_area_keeps_its_object(empty_db_dsn: str, workshop: Workshop) -> None:
    path = workshop.function("f", "", "int", "select 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    before = one(empty_db_dsn, "select 'reaper.f()'::regprocedure::oid")
    workshop.code("functions/other/f.sql", path.read_text())
    path.unlink()
    migrate(empty_db_dsn, folders=workshop.folders)
    assert one(empty_db_dsn, "select 'reaper.f()'::regprocedure::oid") == before


@pytest.fixture
def inner(workshop: Workshop) -> Workshop:
    """A release with both schemas."""
    workshop.migration(
        "0002.internal",
        "create schema reaper_internal;",
        "drop schema reaper_internal;",
    )
    return workshop


def test_an_internal_function_is_loaded_replaced_and_dropped_like_any_other(
    empty_db_dsn: str, inner: Workshop
) -> None:
    inner.function("outer", "", "text", "select reaper_internal.inside()::text")
    path = inner.internal("inside", "", "int", "select 1")
    migrate(empty_db_dsn, folders=inner.folders)
    assert one(empty_db_dsn, "select reaper.outer()") == "1"
    schema = "select nspowner::regrole::text from pg_namespace where nspname = 'reaper_internal'"
    assert one(empty_db_dsn, schema) == "reaper_owner"
    inner.internal("inside", "", "text", "select 'one'")
    migrate(empty_db_dsn, folders=inner.folders)
    assert one(empty_db_dsn, "select reaper.outer()") == "one"
    owner = "select proowner::regrole::text from pg_proc where proname = 'inside'"
    assert one(empty_db_dsn, owner) == "reaper_owner"
    path.unlink()
    assert migrate(empty_db_dsn, folders=inner.folders).code_dropped == ["internal/area/inside.sql"]
    assert one(empty_db_dsn, owner) is None


def test_a_function_that_becomes_internal_leaves_nothing_in_its_old_schema(
    empty_db_dsn: str, inner: Workshop
) -> None:
    path = inner.function("f", "", "int", "select 1")
    migrate(empty_db_dsn, folders=inner.folders)
    path.unlink()
    inner.internal("f", "", "int", "select 2")
    migrate(empty_db_dsn, folders=inner.folders)
    where = "select pronamespace::regnamespace::text from pg_proc where proname = 'f'"
    assert column(empty_db_dsn, where) == ["reaper_internal"]


def test_going_back_takes_the_internal_functions_along(empty_db_dsn: str, inner: Workshop) -> None:
    inner.internal("inside", "", "int", "select 1")
    migrate(empty_db_dsn, folders=inner.folders)
    migrate(empty_db_dsn, folders=inner.folders, to="0001.a")
    assert one(empty_db_dsn, "select to_regnamespace('reaper_internal')") is None


def test_what_a_dba_built_upon_an_internal_function_is_never_dropped_along(
    empty_db_dsn: str, inner: Workshop
) -> None:
    inner.internal("inside", "", "int", "select 1")
    migrate(empty_db_dsn, folders=inner.folders)
    with admin(empty_db_dsn) as connection:
        connection.execute("create view public.mine as select reaper_internal.inside() as x")
    inner.internal("inside", "", "text", "select 'one'")
    with pytest.raises(MigrationRefused, match=r"view public\.mine"):
        migrate(empty_db_dsn, folders=inner.folders)


@pytest.mark.parametrize(
    ("dependent", "named"),
    [
        ("create view public.mine as select reaper.f() as x", "view public.mine"),
        (
            "create table public.mine (x int default reaper.f())",
            "default value for column x of table public.mine",
        ),
        (
            "create table public.mine (x int check (x > reaper.f()))",
            "constraint mine_x_check on table public.mine",
        ),
        ("create index mine_f on public.spare ((x + reaper.f()))", "index public.mine_f"),
    ],
)
def test_what_a_dba_built_upon_a_function_is_never_dropped_along(
    empty_db_dsn: str, workshop: Workshop, dependent: str, named: str
) -> None:
    path = workshop.function("f", "", "int", "select 1")
    path.write_text(path.read_text().replace("language sql", "language sql immutable"))
    migrate(empty_db_dsn, folders=workshop.folders)
    with admin(empty_db_dsn) as connection:
        connection.execute("create table public.spare (x int)")
        connection.execute(dependent)
    workshop.function("f", "", "text", "select 'one'")
    with pytest.raises(MigrationRefused) as caught:
        migrate(empty_db_dsn, folders=workshop.folders)
    assert named in caught.value.message
    assert one(empty_db_dsn, "select reaper.f()") == 1


def test_a_broken_file_is_named_and_nothing_of_the_code_changes(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.function("f", "", "int", "select 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    workshop.function("f", "", "int", "select 2")
    workshop.code("views/v.sql", "create or replace view reaper.v as select * from reaper.nothing;")
    with pytest.raises(
        MigrationError, match=r"sql/views/v\.sql: relation \"reaper\.nothing\" does not exist"
    ):
        migrate(empty_db_dsn, folders=workshop.folders)
    assert one(empty_db_dsn, "select reaper.f()") == 1


def test_everything_in_schema_reaper_belongs_to_reaper_owner(empty_db_dsn: str, workshop: Workshop) -> None:
    workshop.function("f", "", "int", "select 1")
    migrate(empty_db_dsn, folders=workshop.folders)
    owners = """
        select distinct pg_get_userbyid(o) from (
            select relowner from pg_class where relnamespace = 'reaper'::regnamespace
            union all select proowner from pg_proc where pronamespace = 'reaper'::regnamespace
            union all select nspowner from pg_namespace where nspname = 'reaper') as t (o)
    """
    assert column(empty_db_dsn, owners) == ["reaper_owner"]
