"""Putting through the doors: announce, upload, commit; or give up. Every refusal comes with its hint."""

import re
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from tests.support.paste_fixtures import codes, column, contents, record, refs, refused, value
from tests.support.writer_fixtures import Bytes, Owed, accounts, intents, later, owed, truth

LEVELS = pytest.mark.parametrize(
    "level", [psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE]
)


def test_a_put_of_new_content_stores_the_uploaded_bytes(db, writer):
    intent = writer.begin("a", "hash", 10)
    assert intent.upload_required
    assert re.fullmatch(r"ha/hash/[0-9a-f]{32}", intent.object_key)
    assert accounts(db) == Bytes(reserved=10)
    assert writer.get("a") is None

    done = writer.commit(intent.intent_id)
    assert (done.backend, done.object_key, done.stored) == ("default", intent.object_key, True)
    found = writer.get("a")
    assert (found.content_hash, found.object_key, found.size_bytes) == ("hash", intent.object_key, 10)
    assert refs(db, "hash") == 1
    assert accounts(db) == truth(db) == Bytes(used=10)
    assert intents(db) == set()
    assert owed(db) == []


def test_a_put_of_content_that_is_there_needs_no_upload(db, writer):
    first = writer.put("a")
    intent = writer.begin("b")
    assert not intent.upload_required
    done = writer.commit(intent.intent_id, uploaded=False)
    assert (done.object_key, done.stored) == (first.object_key, False)
    assert refs(db, "h") == 2
    assert accounts(db) == truth(db) == Bytes(used=10)


def test_bytes_that_were_uploaded_without_need_are_queued(db, writer):
    writer.put("a")
    intent = writer.begin("b")
    assert not writer.commit(intent.intent_id, uploaded=True).stored
    assert owed(db) == [Owed(intent.object_key, 10, passes_left=1, delay=0)]
    assert accounts(db) == truth(db) == Bytes(used=10, orphan=10)


def test_of_two_writers_of_one_content_the_first_commit_wins_and_the_others_bytes_are_queued(db, writers):
    one, two = writers(), writers()
    first, second = one.begin("a"), two.begin("b")
    assert first.upload_required
    assert second.upload_required
    assert accounts(db) == Bytes(reserved=20)
    won = two.commit(second.intent_id)
    lost = one.commit(first.intent_id)
    assert (won.stored, lost.stored) == (True, False)
    assert won.object_key == lost.object_key == second.object_key
    assert owed(db) == [Owed(first.object_key, 10, passes_left=1, delay=0)]
    assert refs(db, "h") == 2
    assert accounts(db) == truth(db) == Bytes(used=10, orphan=10)


def test_the_second_of_two_commits_at_once_waits_for_the_first(db, writers, waits):
    one, two = writers(), writers(autocommit=False)
    first, second = one.begin("a"), two.begin("b")
    two.connection.commit()
    two.commit(second.intent_id)
    with ThreadPoolExecutor(1) as thread:
        lost = thread.submit(one.commit, first.intent_id)
        waits(one.connection)
        two.connection.commit()
        assert lost.result().object_key == second.object_key
    assert refs(db, "h") == 2
    assert accounts(db) == truth(db) == Bytes(used=10, orphan=10)


def test_who_waited_for_a_commit_that_was_taken_back_stores_its_own(db, writers, waits):
    one, two = writers(), writers(autocommit=False)
    first, second = one.begin("a"), two.begin("b")
    two.connection.commit()
    two.commit(second.intent_id)
    with ThreadPoolExecutor(1) as thread:
        stored = thread.submit(one.commit, first.intent_id)
        waits(one.connection)
        two.connection.rollback()
        assert stored.result().object_key == first.object_key
    assert intents(db) == {"b"}
    assert accounts(db) == truth(db) == Bytes(used=10, reserved=10)


def test_content_that_went_between_begin_and_commit_is_uploaded_and_made_anew(db, writer, paste, drain):
    paste("old", content="h")
    intent = writer.begin("a", "h")
    assert not intent.upload_required
    drain()
    with refused("RP002", "its bytes must be uploaded") as caught:
        writer.commit(intent.intent_id, uploaded=False)
    assert intent.object_key in caught.value.diag.message_hint
    assert accounts(db).reserved == 10
    done = writer.commit(intent.intent_id, uploaded=True)
    assert (done.object_key, done.stored) == (intent.object_key, True)
    assert refs(db, "h") == 1
    assert accounts(db) == truth(db) == Bytes(used=10)


def test_nothing_is_referred_to_that_was_required_and_not_uploaded(db, writer):
    intent = writer.begin()
    with refused("RP002"):
        writer.commit(intent.intent_id, uploaded=False)
    assert (codes(db), contents(db), intents(db)) == (set(), set(), {"a"})


@pytest.mark.parametrize("uploaded", [False, True])
def test_content_that_went_from_a_full_store_is_begun_again(db, writer, paste, drain, uploaded):
    paste("old", content="h")
    db.execute("update reaper.backend_list set quota = 5")
    intent = writer.begin("a", "h")
    drain()
    with refused("RP003", "has no reservation") as caught:
        writer.commit(intent.intent_id, uploaded)
    assert "abort_put" in caught.value.diag.message_hint
    assert writer.abort(intent.intent_id)
    assert accounts(db) == truth(db) == Bytes()


def test_an_intent_that_is_gone_is_begun_again(writer):
    intent = writer.begin()
    writer.commit(intent.intent_id)
    for gone in (intent.intent_id, uuid4(), None):
        with refused("RP003", "does not exist") as caught:
            writer.commit(gone)
        assert "get_paste" in caught.value.diag.message_hint


def test_who_does_not_say_whether_it_uploaded_is_asked(writer):
    intent = writer.begin()
    with refused("RP005") as caught:
        writer.commit(intent.intent_id, None)
    assert "true" in caught.value.diag.message_hint


BAD = {
    "no code": (("", "h", 1), "invalid short_code: 0 characters", "1 to 512"),
    "null code": ((None, "h", 1), "invalid short_code: 0 characters", "1 to 512"),
    "long code": (("c" * 513, "h", 1), "invalid short_code: 513 characters", "1 to 512"),
    "no hash": (("a", "", 1), "invalid content_hash: 0 bytes", "1 to 512"),
    "null hash": (("a", None, 1), "invalid content_hash: 0 bytes", "1 to 512"),
    "long hash": (("a", "é" * 257, 1), "invalid content_hash: 514 bytes", "1 to 512"),
    "no size": (("a", "h", None), "invalid size_bytes: null", "from 0"),
    "negative size": (("a", "h", -1), "invalid size_bytes: -1", "from 0"),
    "endless size": (("a", "h", 2**50 + 1), "invalid size_bytes: 1125899906842625", "1 PiB"),
}


@pytest.mark.parametrize(("arguments", "message", "hint"), BAD.values(), ids=BAD)
def test_a_put_that_could_never_be_stored_is_refused_before_the_upload(db, writer, arguments, message, hint):
    with refused("RP005", message) as caught:
        writer.call("begin_put", *arguments)
    assert hint in caught.value.diag.message_hint
    assert intents(db) == set()


@pytest.mark.parametrize("arguments", [("c" * 512, "h", 0), ("a", "é" * 256, 2**50)])
def test_the_longest_names_and_the_largest_and_the_smallest_size_are_taken(db, writer, arguments):
    intent = writer.call("begin_put", *arguments)[0]
    assert len(intent.object_key.encode()) < 1024
    writer.commit(intent.intent_id)
    assert accounts(db) == truth(db) == Bytes(used=arguments[2])


@pytest.mark.parametrize("expires", ["-1 second", "-1 hour"])
def test_a_paste_that_is_over_before_it_begins_is_refused(writer, expires):
    with refused("RP005", "is in the past") as caught:
        writer.begin(expires=expires)
    assert "reaper.clock()" in caught.value.diag.message_hint


def test_a_time_that_was_now_a_statement_ago_has_passed(db, writer):
    (now,) = column(db, "select reaper.clock()")
    with refused("RP005", "is in the past"):
        writer.call("begin_put", "a", "h", 1, now)


SLOW = "(select reaper.clock() + interval '1 millisecond' as soon, pg_sleep(0.01))"


def test_a_server_that_is_slower_than_a_short_life_blames_nobody(db, writer):
    writer.put("kept")
    db.execute(
        f"with s as materialized {SLOW} select i.* from s, lateral reaper.begin_put('a', 'h', 1, s.soon) i"
    )
    db.execute(f"with s as materialized {SLOW} select reaper.extend_paste('kept', s.soon) from s")
    assert writer.get("kept") is None


@pytest.mark.parametrize("expires", [None, "infinity"])
def test_a_paste_may_live_for_ever(db, writer, expires):
    intent = writer.call("begin_put", "a", "h", 1, expires)[0]
    writer.commit(intent.intent_id)
    assert column(db, "select expires_at::text from reaper.get_paste('a')") == [expires]


def test_a_paste_that_expired_while_it_was_uploaded_is_made_and_collected(db, writer, clock, drain):
    intent = writer.begin(expires="1 minute")
    clock.advance("1 hour")
    writer.commit(intent.intent_id)
    assert writer.get("a") is None
    assert drain() == {intent.object_key}
    assert codes(db) == set()


def test_a_code_that_is_taken_is_refused_before_the_upload(db, writer, paste):
    paste("a", content="other", expires="-1 hour")
    with refused("23505", "short_code a is taken") as caught:
        writer.begin("a")
    assert "another code" in caught.value.diag.message_hint
    assert intents(db) == set()


def test_a_code_that_was_taken_meanwhile_is_refused_at_the_commit_which_changes_nothing(db, writer):
    mine = writer.begin("a", "mine")
    writer.put("a", "theirs")
    with refused("23505", "short_code a is taken") as caught:
        writer.commit(mine.intent_id)
    assert "another code" in caught.value.diag.message_hint
    assert contents(db) == {"theirs"}
    assert intents(db) == {"a"}
    assert accounts(db) == truth(db) == Bytes(used=10, reserved=10)
    assert writer.abort(mine.intent_id)
    assert accounts(db) == truth(db) == Bytes(used=10, orphan=10)


def test_who_gives_up_leaves_no_bytes_behind_even_if_its_upload_lands_late(db, writer):
    intent = writer.begin()
    assert writer.abort(intent.intent_id) is True
    assert owed(db) == [Owed(intent.object_key, 10, passes_left=2, delay=900)]
    assert accounts(db) == truth(db) == Bytes(orphan=10)
    assert writer.abort(intent.intent_id) is False
    with refused("RP003"):
        writer.commit(intent.intent_id)


def test_who_gives_up_before_any_upload_owes_nothing(db, writer):
    intent = writer.begin()
    assert writer.abort(intent.intent_id, False) is True
    assert owed(db) == []
    assert accounts(db) == truth(db) == Bytes()


def test_who_does_not_know_whether_it_uploaded_may_have(db, writer):
    writer.abort(writer.begin().intent_id, None)
    assert len(owed(db)) == 1


def test_the_delay_of_a_deletion_follows_the_setting(db, writer):
    db.execute("update reaper.settings set intent_min_age = '1 hour'")
    writer.abort(writer.begin().intent_id)
    assert owed(db)[0].delay == 3600


@LEVELS
def test_doors_that_decide_on_absence_refuse_an_old_snapshot(db, writer, writers, level):
    intent = writer.begin("b", "other")
    strict = writers(autocommit=False)
    strict.connection.isolation_level = level
    for door in (lambda: strict.begin(), lambda: strict.commit(intent.intent_id)):
        with refused("RP006") as caught:
            door()
        assert "read committed" in caught.value.diag.message_hint
        strict.connection.rollback()
    assert intents(db) == {"b"}


@LEVELS
def test_the_other_doors_take_any_isolation_level(writer, writers, level):
    writer.put("a")
    intent = writer.begin("b")
    strict = writers(autocommit=False)
    strict.connection.isolation_level = level
    assert strict.get("a") is not None
    assert strict.extend("a", "2 days")
    assert strict.delete("a")
    assert strict.abort(intent.intent_id)
    strict.connection.commit()
    assert writer.get("a") is None


def test_an_intent_is_on_disk_before_anybody_uploads(writers):
    careless = writers(options="-c synchronous_commit=off", autocommit=False)
    careless.begin()
    assert value(careless.connection, "show synchronous_commit") == "on"
    careless.connection.commit()
    assert value(careless.connection, "show synchronous_commit") == "off"


def test_a_commit_that_waits_too_long_is_told_so_and_can_be_tried_again(db, writer, writers):
    writer.put("a")
    intent = writer.begin("b")
    holder = writers(autocommit=False)
    holder.connection.execute("select from content for update")
    with refused("55P03"):
        writer.commit(intent.intent_id, uploaded=False)
    holder.connection.rollback()
    writer.commit(intent.intent_id, uploaded=False)
    assert codes(db) == {"a", "b"}


def test_copies_of_content_that_somebody_deleted_by_hand_are_queued_when_it_comes_back(db, writer):
    old = writer.put("a").object_key
    db.execute("delete from pastes")
    db.execute("delete from content")
    writer.put("b")
    assert [entry.object_key for entry in owed(db)] == [old]
    assert accounts(db) == truth(db) == Bytes(used=10, orphan=10)


def test_a_trigger_that_swallows_the_content_is_told_instead_of_tried_for_ever(db, writer):
    db.execute(
        "create function swallow() returns trigger language plpgsql as 'begin return null; end';"
        "create trigger swallow before insert on content for each row execute function swallow()"
    )
    intent = writer.begin()
    with refused("40001", "neither be updated nor inserted") as caught:
        writer.commit(intent.intent_id)
    assert "trigger" in caught.value.diag.message_hint


def test_what_the_application_adds_goes_with_the_paste_or_not_at_all(db, writers):
    db.execute("alter table pastes add column title text")
    app = writers(autocommit=False)
    intent = app.begin("a")
    app.connection.commit()
    app.commit(intent.intent_id)
    app.connection.execute("update pastes set title = 'Hello' where short_code = 'a'")
    app.connection.rollback()
    assert (codes(db), intents(db)) == (set(), {"a"})
    app.commit(intent.intent_id)
    app.connection.execute("update pastes set title = 'Hello' where short_code = 'a'")
    app.connection.commit()
    assert column(db, "select title from pastes") == ["Hello"]


def test_every_door_serves_the_application_and_nobody_needs_more(writers):
    app = writers(options="-c role=reaper_app")
    app.put("a")
    other = app.begin("b", "x")
    assert app.get("a") is not None
    assert app.call("copies_of", "h")
    assert app.extend("a")
    assert app.delete("a")
    assert app.abort(other.intent_id)
    with refused("42501"):
        app.connection.execute("select from reaper.put_intents")
    with refused("42501"):
        app.connection.execute("select reaper_internal.choose_backend(1)")


def test_doors_need_no_state_of_a_session(writers):
    """As behind a pooler that hands every transaction to another server connection."""
    sessions = [writers() for _ in range(6)]
    intent = sessions[0].begin("a")
    sessions[1].commit(intent.intent_id)
    assert sessions[2].get("a") is not None
    assert sessions[3].extend("a")
    assert sessions[4].delete("a")
    held = "select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'"
    assert [value(session.connection, held) for session in sessions] == [0] * 6
    for session in sessions:
        session.connection.execute("discard all")
    assert sessions[5].get("a") is None


def test_the_intent_remembers_what_the_pending_reaper_needs(db, writer, clock):
    clock.stop()
    intent = writer.begin("a", "h", 7, "1 day")
    row = record(db, "select * from reaper.put_intents")
    assert (row.intent_id, row.backend, row.object_key) == (intent.intent_id, "default", intent.object_key)
    assert (row.short_code, row.content_hash, row.size_bytes) == ("a", "h", 7)
    assert row.expires_at == later(db, "1 day")
    assert row.begun_at == later(db, "0")
    assert row.next_attempt == later(db, "15 minutes")
    assert (row.upload_required, row.reserved, row.attempts, row.lease) == (True, True, 0, None)
