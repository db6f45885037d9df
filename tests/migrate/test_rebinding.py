"""A binding that replaces another: it is read only when all that it needs is there, and loses nothing."""

from __future__ import annotations

import pytest

from reaper.config.tables import read_options
from reaper.errors import MigrationRefused, WouldLoseInformation
from reaper.migrate import Request, migrate, plan
from reaper.services import ALL
from tests.support.migrate.adoption_page import Application, shapes
from tests.support.migrate.existing_application import build
from tests.support.migrate.release_folder import admin, column, one

OTHER = {shape.title: shape for shape in shapes()}[
    "Other names, another schema, a key that is made of the hash"
]
INDEXES = "select indexdef from pg_indexes where schemaname = 'app' and indexname ~ '^reaper_' order by 1"
SETTLED = "delete from reaper.audit; delete from reaper.runs"


@pytest.fixture
def application(empty_db_dsn: str) -> Application:
    """Documents and blobs, with columns that may take the part of others."""
    made = Application(empty_db_dsn, OTHER)
    made.create()
    made.sql("alter table app.blobs add k1 text, add k2 text; alter table app.documents add ends timestamptz")
    made.fill(6)
    made.sql("update app.blobs set k1 = 'one/' || sha, k2 = 'two/' || sha")
    return made


def bind(application: Application, *options: str) -> None:
    migrate(application.dsn, tables=Request(told=OTHER.names, options=read_options(options)))


def guard(dsn: str) -> str:
    return str(one(dsn, "select pg_get_triggerdef(oid) from pg_trigger where tgname = 'reaper_retired_key'"))


def test_other_columns_get_indexes_and_a_guard_of_their_own(application: Application) -> None:
    bind(application, "content.object_key=k1")
    bind(application, "content.object_key=k2", "pastes.expires_at=ends")
    indexes = " ".join(column(application.dsn, INDEXES))
    assert "(ends, id)" in indexes
    assert "(k2)" in indexes
    assert "dies_at" not in indexes
    assert "(k1)" not in indexes
    assert "UPDATE OF sha, k2" in guard(application.dsn)
    assert one(application.dsn, "select object_key from reaper.content order by 1") == "two/h000"
    assert plan(application.dsn).empty


@pytest.mark.parametrize(
    "expression",
    ["'o/' || left(sha, 2) || '/' || sha", "coalesce(k1, sha)", "case when k1 is null then sha else k1 end"],
)
def test_an_expression_is_recognized_however_postgresql_prints_it(
    application: Application, expression: str
) -> None:
    bind(application, f"content.object_key={expression}")
    assert plan(application.dsn).empty


def test_a_rebinding_that_fails_is_completed_by_the_next_run_and_not_read_before(
    application: Application,
) -> None:
    bind(application, "content.object_key=k1")
    application.sql("update app.blobs set k2 = 'same'")
    with pytest.raises(MigrationRefused, match="duplicated") as caught:
        bind(application, "content.object_key='o/' || k2")
    assert "another key" in str(caught.value.hint)
    assert one(application.dsn, "select object_key from reaper.content order by 1") == "one/h000"
    assert one(application.dsn, "select key_expression from reaper.bindings where name = 'content'") is None
    application.sql("update app.blobs set k2 = 'two/' || sha")
    bind(application, "content.object_key='o/' || k2")
    assert one(application.dsn, "select object_key from reaper.content order by 1") == "o/two/h000"
    assert plan(application.dsn).empty


def test_keys_that_were_not_found_stay_refused_until_the_new_ones_are_bound(application: Application) -> None:
    bind(application, "content.object_key=k1")
    application.sql("update reaper.bindings set keys_confirmed = false where name = 'content'")
    application.sql("update app.blobs set k2 = 'same'")
    with pytest.raises(MigrationRefused):
        bind(application, "content.object_key=k2")
    confirmed = "select keys_confirmed from reaper.bindings where name = 'content'"
    assert one(application.dsn, confirmed) is False
    application.sql("update app.blobs set k2 = sha")
    bind(application, "content.object_key=k2")
    assert one(application.dsn, confirmed) is None


def test_two_expressions_are_not_one(application: Application) -> None:
    with pytest.raises(MigrationRefused, match="cannot be"):
        bind(application, "content.object_key=sha), (k1")
    assert one(application.dsn, "select to_regnamespace('reaper')") is None


def test_other_tables_are_drained_only_after_a_person_enabled_it(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn, services=ALL)
    drain = "select enabled from reaper.services where name = 'drain'"
    assert one(empty_db_dsn, drain) is True
    application = Application(empty_db_dsn, OTHER)
    application.create()
    migrate(empty_db_dsn, tables=OTHER.request, services=ALL)
    assert one(empty_db_dsn, drain) is False


def test_a_rollback_counts_what_a_column_holds_that_is_bound_no_more(empty_db_dsn: str) -> None:
    build(empty_db_dsn, "alter table content add k text")
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute("update content set object_key = 'only-here' where content_hash = 'hash-1'")
    migrate(empty_db_dsn, tables=Request(options=read_options(["content.object_key=k"])))
    with admin(empty_db_dsn) as connection:
        connection.execute(SETTLED)
    with pytest.raises(WouldLoseInformation, match=r"1 rows hold in public\.content\.object_key"):
        migrate(empty_db_dsn, to="base")
