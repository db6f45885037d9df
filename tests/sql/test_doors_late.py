"""Uploads that came through after their intent was ended: their bytes are owed, and nobody else's are."""

import psycopg
import pytest

from tests.support.paste_fixtures import refused, value
from tests.support.writer_fixtures import Bytes, Owed, accounts, owed, truth


def owe(writer, intent, content="h", size=10):
    """What a writer says that learned that its intent is gone."""
    return writer.call("enqueue_late_upload", intent.backend, intent.object_key, content, size)[
        0
    ].enqueue_late_upload


@pytest.fixture
def late(db, writer):
    """An intent that was ended, and whose key nobody knows any more."""
    intent = writer.begin()
    assert writer.abort(intent.intent_id, False)
    assert owed(db) == []
    return intent


def test_bytes_that_came_after_everybody_had_forgotten_them_are_owed_as_those_of_a_dropped_intent(
    db, writer, late
):
    assert owe(writer, late)
    assert owed(db) == [Owed(late.object_key, 10, passes_left=2, delay=900)]
    assert accounts(db) == truth(db) == Bytes(orphan=10)


def test_they_are_owed_once_however_often_it_is_said(db, writer, late):
    assert [owe(writer, late) for _ in range(3)] == [True, False, False]
    assert accounts(db) == truth(db) == Bytes(orphan=10)


def test_bytes_that_somebody_made_a_paste_of_are_not_owed(db, writer):
    intent = writer.begin()
    writer.commit(intent.intent_id)
    assert not owe(writer, intent)
    assert owed(db) == []


def test_bytes_of_an_open_intent_and_bytes_that_are_owed_already_are_left_alone(db, writer):
    intent = writer.begin()
    assert not owe(writer, intent)
    assert writer.abort(intent.intent_id)
    assert not owe(writer, intent)
    assert accounts(db) == truth(db) == Bytes(orphan=10)


def test_bytes_that_came_after_a_deletion_that_is_not_settled_yet_are_deleted_again(db, writer, clock):
    intent = writer.begin()
    writer.abort(intent.intent_id)
    clock.advance("1 hour")
    writer.call("finish_cleanup", writer.call("claim_cleanup")[0].lease, "[]")
    clock.advance("1 hour")
    last = writer.call("claim_cleanup")[0].lease
    assert not owe(writer, intent)
    writer.call("finish_cleanup", last, "[]")
    assert [(left.object_key, left.passes_left) for left in owed(db)] == [(intent.object_key, 1)]
    assert accounts(db) == truth(db) == Bytes(orphan=10)


def test_bytes_whose_paste_was_released_are_owed_by_its_batch_alone(db, writer, clock, worker):
    intent = writer.begin(expires="1 second")
    writer.commit(intent.intent_id)
    clock.advance("2 seconds")
    reaper = worker("reaper")
    reaper.drop(reaper.claim())
    assert not owe(writer, intent)
    assert accounts(db) == truth(db) == Bytes(orphan=10)


@pytest.mark.parametrize(
    ("backend", "key"),
    [
        ("default", "somebody/elses/file"),
        ("default", "h"),
        ("default", "h/h/" + "g" * 32),
        ("default", "x/h/" + "0" * 32),
        ("default", None),
        ("nowhere", "h/h/" + "0" * 32),
        (None, "h/h/" + "0" * 32),
    ],
)
def test_no_name_but_one_of_ours_is_taken(db, writer, backend, key):
    with refused("RP005", "is not the key of an intent"):
        writer.call("enqueue_late_upload", backend, key, "h", 10)
    assert owed(db) == []


def test_it_wants_read_committed(writers, late):
    strict = writers(autocommit=False)
    strict.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with refused("RP006"):
        owe(strict, late)


def test_an_application_may_say_it(db, writer):
    intent = writer.begin()
    writer.abort(intent.intent_id, False)
    db.execute("set role reaper_app")
    assert value(db, "select reaper.enqueue_late_upload(%s, %s, 'h', 10)", intent.backend, intent.object_key)
