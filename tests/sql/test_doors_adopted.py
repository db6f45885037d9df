"""The doors on tables that an application made in its own way: its types, its columns, its objects."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from reaper.migrate import migrate
from tests.support.migrate import existing_application
from tests.support.paste_fixtures import Worker, column, findings, record, refs, refused, value
from tests.support.writer_fixtures import Bytes, Writer, accounts, later, truth

HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.fixture
def adopted(empty_db_dsn: str) -> Iterator[Callable[..., Writer]]:
    """A writer at tables of the application's, migrated after they were made and changed as a test needs."""
    opened: list[psycopg.Connection[Any]] = []

    def build(*more: str) -> Writer:
        existing_application.build(empty_db_dsn, *more)
        migrate(empty_db_dsn)
        opened.append(psycopg.connect(empty_db_dsn, autocommit=True))
        return Writer(opened[0])

    yield build
    for connection in opened:
        with closing(connection):
            assert findings(connection) == []


def test_a_paste_goes_through_all_doors(adopted):
    writer = adopted()
    key = writer.put("new", HASH, expires="1 day").object_key
    db = writer.connection
    assert writer.get("new")[:4] == (HASH, "default", key, 10)
    assert record(db, "select title, deletion_status from pastes where short_code = 'new'") == (
        None,
        "NOT_EXPIRED",
    )
    assert value(db, "select mime from content where content_hash = %s", HASH) == "text/plain"
    assert writer.extend("new", "2 days")
    assert writer.delete("new")
    assert key in Worker(db).drain()
    assert accounts(db) == truth(db) == Bytes()


def test_what_the_application_stored_itself_is_read_referred_to_and_released(adopted):
    writer = adopted()
    db = writer.connection
    found = writer.get("code-1")
    assert (found.backend, found.object_key, found.size_bytes) == ("default", "hash-0", None)
    done = writer.put("new", "hash-0")
    assert (done.object_key, done.stored) == ("hash-0", False)
    assert refs(db, "hash-0") == 3
    for code in ("code-0", "code-1", "new"):
        writer.delete(code)
    assert "hash-0" in Worker(db).drain()


def test_content_comes_back_under_a_key_of_its_own_while_the_old_name_is_being_deleted(adopted):
    writer = adopted()
    worker = Worker(writer.connection)
    for code in ("code-0", "code-1"):
        writer.delete(code)
    batch = worker.claim()
    worker.drop(batch)
    done = writer.put("new", "hash-0")
    assert done.stored
    assert done.object_key.startswith("ha/hash-0/")
    worker.finish(batch)
    assert writer.get("new").object_key == done.object_key


def test_a_count_that_was_never_kept_begins_with_the_first_put(adopted):
    writer = adopted(
        "alter table content alter ref_count drop not null",
        "alter table content alter ref_count drop default",
    )
    db = writer.connection
    db.execute("insert into content (content_hash) values ('uncounted')")
    writer.put("new", "uncounted")
    assert refs(db, "uncounted") == 1


def test_columns_in_another_order_are_filled_by_name(adopted):
    writer = adopted(
        "drop table pastes",
        "drop table content",
        "create table content (size_bytes integer, object_key varchar(200),"
        " ref_count smallint default 0 not null, content_hash varchar(100) not null unique)",
        "create table pastes (deletion_initiated_at timestamptz, deletion_status text not null,"
        " expires_at timestamptz, content_hash varchar(100) not null, created_at date default now(),"
        " short_code varchar(20) not null unique)",
    )
    key = writer.put("new", HASH).object_key
    assert writer.get("new").object_key == key
    row = record(writer.connection, "select * from content")
    assert (row.size_bytes, row.object_key, row.ref_count, row.content_hash) == (10, key, 1, HASH)


@pytest.mark.parametrize(
    ("arguments", "hint"), [(("c" * 21, HASH, 1), "1 to 20 "), (("c", "h" * 65, 1), "1 to 64 ")]
)
def test_names_that_the_applications_columns_do_not_take_are_refused_before_the_upload(
    adopted, arguments, hint
):
    writer = adopted()
    with refused("RP005") as caught:
        writer.call("begin_put", *arguments)
    assert hint in caught.value.diag.message_hint


def test_a_key_column_that_is_too_short_is_told_with_the_statement_that_mends_it(adopted):
    writer = adopted("alter table content add object_key varchar(64)")
    with refused("RP005", "object_key takes 64 characters") as caught:
        writer.begin("new", HASH)
    writer.connection.execute(caught.value.diag.message_hint)
    assert writer.put("new", HASH).stored


def test_a_constraint_of_the_applications_refuses_at_the_commit_and_leaves_the_intent(adopted):
    writer = adopted("alter table pastes add constraint polite check (short_code <> 'rude')")
    intent = writer.begin("rude", HASH)
    with refused("23514", "polite"):
        writer.commit(intent.intent_id)
    assert writer.abort(intent.intent_id)
    assert accounts(writer.connection) == truth(writer.connection) == Bytes(orphan=10)


def test_the_pending_reaper_drops_what_the_application_would_refuse(adopted):
    writer = adopted("alter table pastes add constraint polite check (short_code <> 'rude')")
    db = writer.connection
    writer.begin("rude", HASH)
    db.execute("update reaper.settings set clock_may_move = true, clock_offset = '1 hour'")
    [intent] = writer.call("claim_intents")
    found = writer.call("finish_intent", intent.intent_id, intent.lease, True, 10, HASH)
    assert found[0].finish_intent == "dropped"
    assert column(db, "select passes_left from reaper.cleanup_queue") == [2]


def test_sorting_of_the_applications_own_is_no_obstacle(adopted):
    writer = adopted(
        'alter table content alter content_hash type varchar(64) collate "POSIX"',
        'alter table pastes alter content_hash type varchar(64) collate "POSIX"',
        'alter table pastes alter short_code type varchar(20) collate "POSIX"',
    )
    db = writer.connection
    writer.put("new", HASH)
    writer.put("newer", HASH)
    assert writer.get("newer").content_hash == HASH
    assert writer.extend("new", None)
    assert writer.call("extend_paste", "newer", later(db, "1 hour"))[0].extend_paste
    assert writer.delete("new")
    assert writer.delete("newer")
    assert len(Worker(db).drain()) >= 1
