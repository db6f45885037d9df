"""Our foreign key from pastes to content is exchanged for one that asks PostgreSQL less."""

from __future__ import annotations

import psycopg
import pytest

from reaper.migrate import migrate
from tests.schema.application import FOREIGN_KEY, build
from tests.schema.workshop import admin

BEFORE = "0023.wait-for-standby"
LINKS = """
    select conname, confdeltype::text, convalidated from pg_constraint
     where contype = 'f' and conrelid = 'pastes'::regclass and confrelid = 'content'::regclass
"""
NO_ACTION, RESTRICT = ("pastes_content_hash_fkey", "a", True), ("pastes_content_hash_fkey", "r", True)
IN_USE = "delete from content where content_hash in (select content_hash from pastes)"


def links(dsn: str) -> list[tuple[str, str, bool]]:
    with admin(dsn) as connection:
        return connection.execute(LINKS).fetchall()


def fill(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("insert into content (content_hash, ref_count) values ('h', 1)")
        connection.execute("insert into pastes (short_code, content_hash) values ('a', 'h')")


def test_tables_of_ours_are_restricted_and_the_way_back_is_open(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn, to=BEFORE)
    fill(empty_db_dsn)
    assert links(empty_db_dsn) == [NO_ACTION]
    for _ in range(2):
        migrate(empty_db_dsn)
        assert links(empty_db_dsn) == [RESTRICT]
        migrate(empty_db_dsn, to=BEFORE)
        assert links(empty_db_dsn) == [NO_ACTION]


def test_a_foreign_key_that_we_gave_to_an_application_is_restricted(empty_db_dsn: str) -> None:
    build(empty_db_dsn)
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == [RESTRICT]


@pytest.mark.parametrize("action", ["", " on delete restrict"])
def test_a_foreign_key_of_the_applications_own_stays_as_it_is(empty_db_dsn: str, action: str) -> None:
    build(empty_db_dsn, FOREIGN_KEY.rstrip().rstrip(";") + action)
    before = links(empty_db_dsn)
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == before
    migrate(empty_db_dsn, to=BEFORE)
    assert links(empty_db_dsn) == before


def test_there_is_no_moment_without_a_foreign_key(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn, to=BEFORE)
    fill(empty_db_dsn)
    steps = ["0024", "0025", "0026", "0025", "0024", "0023"]
    for step in steps:
        migrate(empty_db_dsn, to=step)
        with (
            admin(empty_db_dsn) as connection,
            pytest.raises((psycopg.errors.ForeignKeyViolation, psycopg.errors.RestrictViolation)),
        ):
            connection.execute(IN_USE)
