"""Which tables are bound: by the file, by options, by what is recorded; wrong names change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from reaper.config.tables import read_options, read_tables
from reaper.errors import ConfigError, MigrationRefused
from reaper.migrate import Request, migrate, plan
from tests.support.migrate.adoption_page import Application, shapes
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.existing_application import build
from tests.support.migrate.release_folder import admin, column, one

SCHEMAS = ("public", "app", "reaper", "procrastinate")
SHAPES = {shape.title: shape for shape in shapes()}
OTHER = SHAPES["Other names, another schema, a key that is made of the hash"]
STATUS = SHAPES["A status column of your own"]
BOUND = "select bound_table from reaper.bindings order by name"


@pytest.fixture
def application(empty_db_dsn: str) -> Application:
    """Documents and blobs in schema app."""
    made = Application(empty_db_dsn, OTHER)
    made.create()
    made.fill(6)
    return made


def asked(*options: str, create_tables: bool = False) -> Request:
    return Request(told=OTHER.names, options=read_options(options), create_tables=create_tables)


def refused(dsn: str, request: Request | None) -> MigrationRefused:
    """The refusal, after which nothing is changed, and which a plan meets too."""
    before = catalogue(dsn, *SCHEMAS)
    with pytest.raises(MigrationRefused) as caught:
        migrate(dsn, tables=request)
    with pytest.raises(MigrationRefused):
        plan(dsn, tables=request)
    assert catalogue(dsn, *SCHEMAS) == before
    assert "nothing was changed" in caught.value.message
    return caught.value


def test_without_a_binding_no_empty_tables_are_made_beside_those_of_the_application(
    application: Application,
) -> None:
    refusal = refused(application.dsn, None)
    assert "app.blobs (refs)" in refusal.message
    assert "app.documents (dies_at)" in refusal.message
    assert "--create-tables" in str(refusal.hint)
    assert "[tables.pastes]" in str(refusal.hint)


def test_tables_of_its_own_beside_others_are_made_on_request(application: Application) -> None:
    migrate(application.dsn, tables=Request(create_tables=True))
    assert column(application.dsn, BOUND) == ["public.content", "public.pastes"]


@pytest.mark.parametrize("more", ["", "create table app.users (id int, name text)"])
def test_a_database_without_such_tables_gets_them(empty_db_dsn: str, more: str) -> None:
    with admin(empty_db_dsn) as connection:
        connection.execute("create schema app")
        connection.execute(more.encode())
    migrate(empty_db_dsn)
    assert column(empty_db_dsn, BOUND) == ["public.content", "public.pastes"]


WRONG = {
    "a table that is missing": (["pastes=app.papers"], "app.papers does not exist", "Correct the names"),
    "both missing": (["pastes=app.a", "content=app.b"], "app.b and app.a do not exist", "Correct the names"),
    "no name of a table": (["pastes=a..b"], "'a..b' is no name of a table", "schema.table"),
    "a table of another database": (
        ["pastes=prod.app.papers"],
        "'prod.app.papers' has 3 parts",
        "schema.table",
    ),
    "a key that is generated": (
        ["content.object_key=made"],
        "app.blobs.made: is a generated column, and reaper could not write it",
        """Bind its expression: --bind "content.object_key=('objects/'::text || sha)\"""",
    ),
    "a column that is missing": (
        ["pastes.short_code=code"],
        "app.documents.code: is missing (it identifies a paste)",
        "Correct the name that pastes.short_code is bound to",
    ),
    "a brought column that is told and missing": (
        ["pastes.deletion_status=state"],
        "app.documents.state: is missing (it is the mark of the claim)",
        "Correct the name",
    ),
    "a wrong type": (
        ["pastes.expires_at=title"],
        "app.documents.title: is text, not timestamp with time zone",
        "alter column title type",
    ),
    "a column that is not unique": (
        ["pastes.short_code=sha"],
        "app.documents.sha: is not unique by itself",
        "create unique index",
    ),
    "a view": (["pastes=app.shown"], "app.shown: is a view", "Use an ordinary table"),
    "one table for both": (["pastes=app.blobs"], "is bound as pastes and as content", "Bind two tables"),
    "an expression that does not parse": (
        ["content.object_key='objects/' || "],
        "content.object_key cannot be 'objects/' || over app.blobs: syntax error",
        "Write a column or an expression",
    ),
    "an expression over another column": (
        ["content.object_key='objects/' || digest"],
        'column "digest" does not exist',
        "Write a column or an expression",
    ),
    "an expression that depends on settings": (
        ["content.object_key=format('objects/%s', sha)"],
        "must be marked IMMUTABLE",
        "Use || instead",
    ),
    "an expression of another type": (
        ["content.object_key=length(sha) + 1"],
        "it is integer, not text",
        "Cast it",
    ),
    "an expression that ends the statement": (
        ["content.object_key=sha) from app.blobs; drop table app.documents; --"],
        "content.object_key cannot be",
        "Write a column or an expression",
    ),
    "a key column that is missing": (
        ["content.object_key=path"],
        "app.blobs.path: is missing (it names the object)",
        "Correct the name",
    ),
}


@pytest.mark.slow(but=5)
@pytest.mark.parametrize(("options", "problem", "hint"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_binding_is_refused_with_what_to_do_and_changes_nothing(
    application: Application, options: list[str], problem: str, hint: str
) -> None:
    application.sql("create view app.shown as select * from app.documents")
    application.sql("alter table app.blobs add made text generated always as ('objects/' || sha) stored")
    is_name = "is no name" not in problem and "parts" not in problem
    refusal = refused(application.dsn, asked(*options)) if is_name else None
    if refusal is None:
        with pytest.raises(MigrationRefused) as caught:
            migrate(application.dsn, tables=asked(*options))
        refusal = caught.value
    assert problem in refusal.message
    assert hint in str(refusal.hint)
    assert one(application.dsn, "select to_regnamespace('reaper')") is None


def test_a_status_column_is_never_doubled(empty_db_dsn: str) -> None:
    Application(empty_db_dsn, STATUS).create()
    refusal = refused(empty_db_dsn, None)
    assert "public.pastes.status: holds the states of seed-style expiry already" in refusal.message
    assert "--bind pastes.deletion_status=status" in str(refusal.hint)


def test_a_status_column_is_known_by_its_values_alone(empty_db_dsn: str) -> None:
    build(empty_db_dsn, "alter table pastes add status text", "update pastes set status = 'NOT_EXPIRED'")
    refusal = refused(empty_db_dsn, None)
    assert "public.pastes.status: holds the states of expiry already" in refusal.message
    migrate(empty_db_dsn, tables=Request(options=read_options(["pastes.deletion_status=status"])))
    assert one(empty_db_dsn, "select count(*) from reaper.claim_expired()") == 1
    there = "select attname from pg_attribute where attrelid = 'pastes'::regclass and attname ~ 'status'"
    assert column(empty_db_dsn, there) == ["status"]


def test_a_status_of_another_meaning_is_left_to_the_application(empty_db_dsn: str) -> None:
    build(empty_db_dsn, "alter table pastes add status text default 'draft'")
    migrate(empty_db_dsn)
    assert one(empty_db_dsn, "select count(*) from pastes where status = 'draft'") == 60


def test_a_status_of_another_meaning_is_not_bound_and_nothing_is_changed(empty_db_dsn: str) -> None:
    build(empty_db_dsn, "alter table pastes add status text default 'draft'")
    refusal = refused(empty_db_dsn, Request(options=read_options(["pastes.deletion_status=status"])))
    assert "public.pastes.status: 60 rows or more have another value" in refusal.message
    assert "leave it out" in str(refusal.hint)


def test_a_check_on_a_column_that_was_bound_by_mistake_goes_with_the_mistake(empty_db_dsn: str) -> None:
    build(empty_db_dsn, "update pastes set title = null", "alter table pastes add status varchar(20)")
    migrate(empty_db_dsn, tables=Request(options=read_options(["pastes.deletion_status=title"])))
    migrate(empty_db_dsn, tables=Request(options=read_options(["pastes.deletion_status=status"])))
    with admin(empty_db_dsn) as connection:
        connection.execute("update pastes set title = 'hello'")
    assert plan(empty_db_dsn).empty


def test_what_is_recorded_stays_bound_without_a_file(application: Application) -> None:
    migrate(application.dsn, tables=asked())
    assert plan(application.dsn).empty
    assert not migrate(application.dsn).changed
    assert column(application.dsn, BOUND) == ["app.blobs", "app.documents"]


def test_options_go_before_the_file_and_add_to_what_is_recorded(application: Application) -> None:
    application.sql("alter table app.documents add column ends timestamptz")
    migrate(application.dsn, tables=asked("pastes.expires_at=ends"))
    columns = "select columns ->> %s from reaper.bindings where name = 'pastes'"
    assert one(application.dsn, columns, "expires_at") == "ends"
    migrate(application.dsn, tables=Request(options=read_options(["pastes.expires_at=dies_at"])))
    assert one(application.dsn, columns, "expires_at") == "dies_at"
    assert one(application.dsn, columns, "short_code") == "id"
    assert one(application.dsn, "select claimed > 0 from reaper.claim_expired()")


def test_another_object_key_is_bound_both_ways(application: Application) -> None:
    migrate(application.dsn, tables=asked())
    application.sql("alter table app.blobs add column path text")
    migrate(application.dsn, tables=asked("content.object_key=path"))
    guard = "select pg_get_triggerdef(oid) from pg_trigger where tgname = 'reaper_retired_key'"
    assert "path" in one(application.dsn, guard)
    assert one(application.dsn, "select object_key from reaper.content limit 1") is None
    migrate(application.dsn, tables=asked("content.object_key='other/' || sha"))
    assert one(application.dsn, "select object_key from reaper.content order by 1") == "other/h000"
    definition = "select indexdef from pg_indexes where indexname = 'reaper_blobs_object_key'"
    assert "other/" in one(application.dsn, definition)
    assert plan(application.dsn).empty


def test_other_tables_are_not_bound_while_batches_hold_rows_of_these(application: Application) -> None:
    migrate(application.dsn, tables=asked())
    application.sql("select reaper.claim_expired(1)")
    application.sql("create table app.papers (like app.documents including all)")
    refusal = refused(application.dsn, asked("pastes=app.papers"))
    assert "1 batches hold rows of app.documents" in refusal.message
    application.sql("select reaper.return_batch(batch_id) from reaper.batches")
    migrate(application.dsn, tables=asked("pastes=app.papers"))
    assert column(application.dsn, BOUND) == ["app.blobs", "app.papers"]
    assert one(application.dsn, "select count(*) from reaper.claim_expired()") == 0


def test_names_that_need_quotes_are_served(empty_db_dsn: str) -> None:
    with admin(empty_db_dsn) as connection:
        connection.execute(
            'create schema "My App"; create table "My App"."Blob.s" ("Ha sh" text primary key, "order" int);'
            ' create table "My App"."Docs" ("I""d" text primary key, "user" text not null,'
            ' "End" timestamptz);'
            ' insert into "My App"."Blob.s" values (\'h\', 1); insert into "My App"."Docs"'
            " values ('a', 'h', now() - interval '1 day')"
        )
    options = [
        'pastes="My App"."Docs"',
        'pastes.short_code="I""d"',
        "pastes.content_hash=user",
        "pastes.expires_at=End",
        'content="My App"."Blob.s"',
        'content.content_hash="Ha sh"',
        "content.ref_count=order",
    ]
    migrate(empty_db_dsn, tables=Request(options=read_options(options)))
    assert plan(empty_db_dsn).empty
    with admin(empty_db_dsn) as connection:
        connection.execute("call reaper.drain()")
    assert one(empty_db_dsn, "select count(*) from reaper.content") == 0
    with admin(empty_db_dsn) as connection:
        connection.execute("select reaper.finish_batch(batch_id, '[]') from reaper.batches")
        connection.execute("delete from reaper.runs; delete from reaper.audit")
    migrate(empty_db_dsn, to="base")
    columns = "select count(*) from pg_attribute where attrelid = %s::regclass and attnum > 0"
    assert one(empty_db_dsn, columns + " and not attisdropped", '"My App"."Docs"') == 3


FILES = {
    "[tables.paste]\ntable = 'x'": "tables.paste.table is not known; the tables are pastes and content",
    "[tables.pastes]\nexpire_at = 'x'": "did you mean expires_at?",
    "[tables.pastes]\ntable = 5": "must be a text",
    "[tables.pastes]\nexpires_at = 'a || b'": "only content.object_key may be an expression",
    "tables = 5": "tables must be [tables.pastes] and [tables.content]",
}


@pytest.mark.parametrize(("text", "problem"), FILES.items(), ids=FILES.values())
def test_a_wrong_file_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "reaper.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_tables(file)
    assert problem in caught.value.message
    assert str(file) in caught.value.message


def test_an_option_without_a_value_says_how_it_is_written() -> None:
    with pytest.raises(ConfigError, match="there is no =") as caught:
        read_options(["pastes"])
    assert "--bind pastes=app.documents" in str(caught.value.hint)
