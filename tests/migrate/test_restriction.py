"""Our foreign key from pastes to content is exchanged for one that asks PostgreSQL less."""

from __future__ import annotations

import psycopg
import pytest

from reaper.errors import DatabaseError
from reaper.migrate import migrate
from tests.support.migrate.existing_application import FOREIGN_KEY, build
from tests.support.migrate.release_folder import admin

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


CHANGED = {
    "deferrable": "foreign key (content_hash) references content deferrable",
    "cascading updates": "foreign key (content_hash) references content on update cascade",
}


@pytest.mark.parametrize("key", CHANGED.values(), ids=CHANGED)
def test_a_foreign_key_of_ours_that_somebody_changed_stays_as_it_is(empty_db_dsn: str, key: str) -> None:
    migrate(empty_db_dsn, to=BEFORE)
    with admin(empty_db_dsn) as connection:
        connection.execute("alter table pastes drop constraint pastes_content_hash_fkey")
        connection.execute(f"alter table pastes add constraint pastes_content_hash_fkey {key}".encode())
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == [NO_ACTION]


def test_a_foreign_key_that_has_our_name_by_chance_is_never_dropped(empty_db_dsn: str) -> None:
    theirs = FOREIGN_KEY.replace("content_of_paste", "pastes_content_hash_restrict")
    build(empty_db_dsn, theirs)
    before = links(empty_db_dsn)
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == before
    migrate(empty_db_dsn, to=BEFORE)
    assert links(empty_db_dsn) == before


def lose_content(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("set session_replication_role = replica; delete from content")


def test_pastes_without_content_are_told_with_what_to_do(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn, to=BEFORE)
    fill(empty_db_dsn)
    lose_content(empty_db_dsn)
    with pytest.raises(DatabaseError, match="1 paste rows name content that does not exist") as refusal:
        migrate(empty_db_dsn)
    assert "Delete these pastes" in str(refusal.value.hint)
    with admin(empty_db_dsn) as connection:
        connection.execute("delete from pastes")
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == [RESTRICT]


def test_pastes_without_content_do_not_bar_the_way_back(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn)
    fill(empty_db_dsn)
    lose_content(empty_db_dsn)
    migrate(empty_db_dsn, to=BEFORE)
    assert links(empty_db_dsn) == [("pastes_content_hash_fkey", "a", False)]


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
