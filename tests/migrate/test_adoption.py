"""An application's own content and pastes get what reaper needs, keep what they had, and get it back."""

from __future__ import annotations

import pytest

from reaper.errors import DatabaseError, WouldLoseInformation
from reaper.migrate import migrate, plan
from reaper.migrate.step import Kind
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.existing_application import FOREIGN_KEY, build, rows_of
from tests.support.migrate.release_folder import admin, column

BY_CONTENT = "create index of_content on pastes (content_hash)"
INDEXES = "select indexname from pg_indexes where schemaname = 'public' and tablename = %s order by 1"


def drain(dsn: str) -> list[str]:
    """Expire all that is due, as a worker may; the codes that are left."""
    with admin(dsn) as connection:
        connection.execute("set role reaper_worker")
        connection.execute("call reaper.drain()")
        connection.execute("reset role")
        assert connection.execute("select * from reaper.check_invariants()").fetchall() == []
    return column(dsn, "select short_code from pastes")


@pytest.mark.parametrize(
    "more", [[], [FOREIGN_KEY], [FOREIGN_KEY, BY_CONTENT]], ids=["bare", "linked", "indexed"]
)
def test_adopted_tables_keep_their_rows_and_columns_and_can_be_drained(
    empty_db_dsn: str, more: list[str]
) -> None:
    build(empty_db_dsn, *more)
    before = {table: rows_of(empty_db_dsn, table) for table in ("content", "pastes")}
    migrate(empty_db_dsn)
    for table, rows in before.items():
        assert [row[: len(rows[0])] for row in rows_of(empty_db_dsn, table)] == rows
    assert sorted(drain(empty_db_dsn)) == sorted(row[1] for row in before["pastes"] if row[0] % 3 != 1)


def test_rows_that_are_older_than_the_column_have_no_invented_time_of_creation(empty_db_dsn: str) -> None:
    build(empty_db_dsn)
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute("insert into pastes (short_code, content_hash) values ('new', 'hash-0')")
    assert column(empty_db_dsn, "select short_code from pastes where created_at is not null") == ["new"]


def test_a_migration_of_adopted_tables_is_complete_and_changes_nothing_the_second_time(
    empty_db_dsn: str,
) -> None:
    build(empty_db_dsn)
    migrate(empty_db_dsn)
    before = catalogue(empty_db_dsn, "public", "reaper")
    assert plan(empty_db_dsn).empty
    assert not migrate(empty_db_dsn).changed
    assert catalogue(empty_db_dsn, "public", "reaper") == before
    assert column(empty_db_dsn, "select conname from pg_constraint where not convalidated") == []


LINKS = """
    select conname from pg_constraint
     where contype = 'f' and conrelid = 'pastes'::regclass and confrelid = 'content'::regclass order by 1
"""


def test_a_foreign_key_that_is_there_is_used_and_not_doubled(empty_db_dsn: str) -> None:
    build(empty_db_dsn, FOREIGN_KEY)
    migrate(empty_db_dsn)
    assert column(empty_db_dsn, LINKS) == ["content_of_paste"]


@pytest.mark.slow
def test_a_foreign_key_comes_after_the_index_that_it_needs(empty_db_dsn: str) -> None:
    """Without that index each DELETE of content by the application would read all of pastes."""
    build(empty_db_dsn)
    linked_after: list[set[str]] = []
    for migration in plan(empty_db_dsn).names(Kind.APPLY):
        migrate(empty_db_dsn, to=migration)
        linked_after += [made(empty_db_dsn)] if column(empty_db_dsn, LINKS) else []
    assert linked_after
    assert all("reaper_pastes_content" in indexes for indexes in linked_after)


def test_a_foreign_key_of_another_column_does_not_stand_for_that_of_the_content(empty_db_dsn: str) -> None:
    preview = "alter table pastes add preview varchar(64) constraint preview_of_paste references content"
    build(empty_db_dsn, preview)
    migrate(empty_db_dsn)
    assert column(empty_db_dsn, LINKS) == ["pastes_content_hash_fkey", "preview_of_paste"]


USABLE = {
    "by expiry": "create index mine on pastes (expires_at)",
    "by expiry, latest first": "create index mine on pastes (expires_at desc)",
    "by expiry and more": "create index mine on pastes (expires_at, id)",
    "by content": "create index mine on pastes (content_hash)",
    "by content and more": "create index mine on pastes (content_hash, expires_at)",
    "by content, hashed": "create index mine on pastes using hash (content_hash)",
}
UNUSABLE = {
    "of some rows": "create index mine on pastes (expires_at) where title is not null",
    "of block ranges": "create index mine on pastes using brin (expires_at)",
    "hashed": "create index mine on pastes using hash (expires_at)",
    "led by another column": "create index mine on pastes (id, expires_at)",
    "of contents in block ranges": "create index mine on pastes using brin (content_hash)",
    "of contents of some rows": "create index mine on pastes (content_hash) where title is not null",
}


def made(dsn: str) -> set[str]:
    return {name for name in column(dsn, INDEXES, "pastes") if name.startswith("reaper")}


def needed(statement: str) -> str:
    return "reaper_pastes_content" if "(content_hash" in statement else "reaper_pastes_due"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("statement", USABLE.values(), ids=USABLE.keys())
def test_an_index_that_serves_is_used_and_not_doubled(empty_db_dsn: str, statement: str) -> None:
    build(empty_db_dsn, statement)
    migrate(empty_db_dsn)
    assert made(empty_db_dsn) == {"reaper_pastes_due", "reaper_pastes_content"} - {needed(statement)}
    assert len(drain(empty_db_dsn)) == 40


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("statement", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_index_that_does_not_serve_is_not_relied_upon(empty_db_dsn: str, statement: str) -> None:
    build(empty_db_dsn, statement)
    migrate(empty_db_dsn)
    assert made(empty_db_dsn) == {"reaper_pastes_due", "reaper_pastes_content"}


def test_references_that_keep_pastes_from_being_deleted_are_named(empty_db_dsn: str) -> None:
    comments = "create table {} (code varchar(20) constraint on_paste references pastes (short_code) {})"
    build(empty_db_dsn, comments.format("comments", ""), comments.format("likes", "on delete cascade"))
    [warning] = migrate(empty_db_dsn).warnings
    assert (
        "public.comments, constraint on_paste: refers to public.pastes without CASCADE or SET NULL" in warning
    )
    assert "alter table public.comments drop constraint on_paste" in warning
    assert "on delete cascade" in warning


def test_an_old_copy_that_refers_to_content_is_to_be_dropped_and_never_to_cascade(empty_db_dsn: str) -> None:
    build(
        empty_db_dsn, "create table pastes_old (content_hash varchar(64) constraint old references content)"
    )
    [warning] = migrate(empty_db_dsn).warnings
    assert "alter table public.pastes_old drop constraint old, or drop the table" in warning
    assert "on delete cascade" not in warning


def test_pastes_without_content_stop_the_migration_until_they_are_mended(empty_db_dsn: str) -> None:
    build(empty_db_dsn, "delete from content where content_hash in ('hash-0', 'hash-1')")
    with pytest.raises(
        DatabaseError, match=r"4 rows of public\.pastes name content that does not exist"
    ) as refusal:
        migrate(empty_db_dsn)
    assert "run reaper migrate again" in str(refusal.value.hint)
    assert refusal.value.sqlstate == "23503"
    with admin(empty_db_dsn) as connection:
        connection.execute("delete from pastes where content_hash in ('hash-0', 'hash-1')")
    assert "validate pastes_content_hash_fkey" in " ".join(s.title for s in plan(empty_db_dsn).steps)
    migrate(empty_db_dsn)
    assert len(drain(empty_db_dsn)) == 38


@pytest.mark.parametrize(
    "key", ["", "alter table content add object_key text"], ids=["new key", "key of its own"]
)
def test_a_hash_with_a_collation_of_its_own_is_served(empty_db_dsn: str, key: str) -> None:
    """A key with another one could not be compared with it: PostgreSQL does not choose between two."""
    posix = 'alter table {0} alter content_hash type varchar(64) collate "POSIX"'
    build(empty_db_dsn, posix.format("content"), posix.format("pastes"), key)
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute("insert into content (content_hash, object_key) values ('x', 'x'), ('y', null)")
    assert len(drain(empty_db_dsn)) == 40


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("more", [[], [FOREIGN_KEY, BY_CONTENT]], ids=["bare", "indexed"])
def test_a_complete_rollback_gives_the_tables_back_as_they_were(empty_db_dsn: str, more: list[str]) -> None:
    build(empty_db_dsn, *more)
    before = catalogue(empty_db_dsn, "public")
    rows = [rows_of(empty_db_dsn, table) for table in ("content", "pastes")]
    migrate(empty_db_dsn)
    adopted = catalogue(empty_db_dsn, "public", "reaper")
    migrate(empty_db_dsn, to="base")
    assert catalogue(empty_db_dsn, "public") == before
    assert [rows_of(empty_db_dsn, table) for table in ("content", "pastes")] == rows
    migrate(empty_db_dsn)
    assert catalogue(empty_db_dsn, "public", "reaper") == adopted


LOSSES = {
    "keys": (
        "update content set object_key = content_hash || '/x'",
        r"would lose what 30 rows hold in public\.content\.object_key",
    ),
    "sizes": (
        "update content set size_bytes = 5 where content_hash = 'hash-1'",
        r"would lose what 1 rows hold in public\.content\.size_bytes",
    ),
    "marks": (
        "update pastes set deletion_status = 'DELETION_IN_PROGRESS' where id < 4",
        r"would lose what 3 rows hold in public\.pastes\.deletion_status",
    ),
    "claims": (
        "select reaper.claim_expired()",
        "would lose 1 batches with deletions that are still to be made",
    ),
}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("statement", "loss"), LOSSES.values(), ids=LOSSES.keys())
def test_a_rollback_that_would_lose_information_refuses(empty_db_dsn: str, statement: str, loss: str) -> None:
    build(empty_db_dsn)
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute(statement.encode())
    rows = [rows_of(empty_db_dsn, table) for table in ("content", "pastes")]
    with pytest.raises(WouldLoseInformation, match=loss):
        migrate(empty_db_dsn, to="base")
    assert [rows_of(empty_db_dsn, table) for table in ("content", "pastes")] == rows
    migrate(empty_db_dsn)
    assert plan(empty_db_dsn).empty
