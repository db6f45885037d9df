"""Tables of an application that reaper cannot serve are refused before the first change, with the fix."""

from __future__ import annotations

import psycopg
import pytest

from reaper.errors import MigrationRefused
from reaper.migrate import migrate, plan
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.existing_application import FOREIGN_KEY, build
from tests.support.migrate.release_folder import admin, one

CASCADE = FOREIGN_KEY.replace(";", " on delete cascade;")
PARTITIONED = """
    drop table pastes;
    create table pastes (short_code text primary key, content_hash text not null, expires_at timestamptz)
        partition by hash (short_code);
"""
VIEW = "alter table pastes rename to all_pastes; create view pastes as select * from all_pastes"
DEFERRED = """
    alter table pastes drop constraint pastes_by_code,
        add constraint pastes_by_code unique (short_code) deferrable
"""
PARTIAL = """
    alter table pastes drop constraint pastes_by_code;
    create unique index on pastes (short_code) where title is not null
"""
POSIX = """
    alter table content alter content_hash type varchar(64) collate "POSIX";
    alter table pastes alter content_hash type varchar(64) collate "POSIX";
"""
NULLS = "alter table pastes alter content_hash drop not null"

# What the application has, what is said about it, and a piece of the fix.
MENDABLE = {
    "a padded code": (
        "alter table pastes alter short_code type char(20)",
        "public.pastes.short_code: is character, not text or character varying",
        "using rtrim(short_code)",
    ),
    "a binary hash": (
        "alter table content alter content_hash type bytea using content_hash::bytea",
        "public.content.content_hash: is bytea, not text",
        "using encode(content_hash, 'hex')",
    ),
    "an expiry without a time zone": (
        "alter table pastes alter expires_at type timestamp",
        "public.pastes.expires_at: is timestamp without time zone",
        "at time zone 'UTC'",
    ),
    "row level security": (
        "alter table pastes enable row level security",
        "public.pastes: has row level security",
        "disable row level security",
    ),
    "a nullable reference": (NULLS, "public.pastes.content_hash: may be null", "set not null"),
    "no count": (
        "alter table content drop ref_count",
        "public.content.ref_count: is missing",
        "add column ref_count bigint",
    ),
    "no unique code": (
        "alter table pastes drop constraint pastes_by_code",
        "public.pastes.short_code: is not unique by itself",
        "create unique index concurrently on public.pastes (short_code)",
    ),
    "a code that is unique only at commit": (DEFERRED, "is not unique by itself", "create unique index"),
    "a code that is unique for some rows": (PARTIAL, "is not unique by itself", "create unique index"),
    "pastes that go with their content": (
        CASCADE,
        "public.pastes, constraint content_of_paste: would delete or change pastes with their content",
        "foreign key (content_hash) references public.content (content_hash) not valid",
    ),
    "two orders of hashes": (
        'alter table pastes alter content_hash type varchar(64) collate "POSIX"',
        'public.pastes.content_hash: has collation "POSIX", public.content',
        "alter column content_hash type character varying collate",
    ),
    "two orders of hash and key": (
        POSIX + 'alter table content add object_key text collate "C"',
        'public.content.object_key: has collation "C", public.content.content_hash has "POSIX"',
        "alter column object_key type text collate",
    ),
    "unlogged pastes": (
        "alter table pastes set unlogged",
        "public.pastes: is unlogged",
        "alter table public.pastes set logged",
    ),
}
HOPELESS = {
    "partitions": (PARTITIONED, "public.pastes: is partitioned", "Use an ordinary table"),
    "a view": (VIEW, "public.pastes: is a view", "Use an ordinary table"),
    "inheritance": (
        "create table more () inherits (pastes)",
        "takes part in table inheritance",
        "no inherit",
    ),
    "pastes alone": (
        "drop table content",
        "public.content does not exist; public.pastes exists",
        "both tables",
    ),
    "content alone": (
        "drop table pastes",
        "public.pastes does not exist; public.content exists",
        "both tables",
    ),
}
EVERY = MENDABLE | HOPELESS


@pytest.mark.slow(but=6)
@pytest.mark.parametrize(("shape", "problem", "fix"), EVERY.values(), ids=EVERY.keys())
def test_a_shape_that_cannot_be_served_is_refused_and_nothing_is_changed(
    empty_db_dsn: str, shape: str, problem: str, fix: str
) -> None:
    build(empty_db_dsn, shape)
    before = catalogue(empty_db_dsn, "public", "reaper", "procrastinate")
    with pytest.raises(MigrationRefused) as refusal:
        migrate(empty_db_dsn)
    assert "nothing was changed" in refusal.value.message
    assert problem in refusal.value.message
    assert fix in str(refusal.value.hint)
    with pytest.raises(MigrationRefused):
        plan(empty_db_dsn)
    assert catalogue(empty_db_dsn, "public", "reaper", "procrastinate") == before
    assert one(empty_db_dsn, "select to_regnamespace('reaper')") is None


@pytest.mark.slow(but=3)
@pytest.mark.parametrize(("shape", "problem", "fix"), MENDABLE.values(), ids=MENDABLE.keys())
def test_the_fix_that_is_named_makes_the_tables_adoptable(
    empty_db_dsn: str, shape: str, problem: str, fix: str
) -> None:
    build(empty_db_dsn, shape)
    with pytest.raises(MigrationRefused) as refusal:
        migrate(empty_db_dsn)
    fixes = [line.split(". ", 1)[1] for line in str(refusal.value.hint).splitlines()]
    assert any(fix in statement for statement in fixes), problem
    with admin(empty_db_dsn) as connection:
        for statement in fixes:
            connection.execute(statement.encode())
        if "encode" in fix:
            # The same bytes as text are what the pastes name.
            connection.execute(
                "update content set content_hash = convert_from(decode(content_hash, 'hex'), 'UTF8')"
            )
    migrate(empty_db_dsn)
    assert one(empty_db_dsn, "select count(*) from reaper.claim_expired()") == 1


def test_a_foreign_key_that_is_not_enforced_is_refused(empty_db_dsn: str) -> None:
    if one(empty_db_dsn, "select current_setting('server_version_num')::int") < 180000:
        pytest.skip("PostgreSQL 18 brought NOT ENFORCED")
    build(empty_db_dsn, FOREIGN_KEY.replace(";", " not enforced;"))
    with pytest.raises(MigrationRefused, match="content_of_paste: is not enforced") as refusal:
        migrate(empty_db_dsn)
    assert "drop constraint content_of_paste" in str(refusal.value.hint)


def test_a_collation_under_which_other_texts_are_equal_is_refused(empty_db_dsn: str) -> None:
    """Drops compare hashes as texts: what the foreign key takes for equal they would not find."""
    try:
        with admin(empty_db_dsn) as connection:
            connection.execute(
                "create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this PostgreSQL is built without ICU, which such collations need")
    alter = "alter table {} alter content_hash type varchar(64) collate loose"
    build(empty_db_dsn, alter.format("content"), alter.format("pastes"))
    with pytest.raises(MigrationRefused, match="loose, under which different texts are equal") as refusal:
        migrate(empty_db_dsn)
    assert 'alter column content_hash type character varying collate "C"' in str(refusal.value.hint)


def test_all_that_is_wrong_is_said_at_once(empty_db_dsn: str) -> None:
    build(empty_db_dsn, NULLS, "alter table content drop ref_count")
    with pytest.raises(MigrationRefused, match=r"ref_count: is missing.*; .*content_hash: may be null"):
        migrate(empty_db_dsn)
