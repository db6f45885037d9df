"""Reading, deleting and extending through the doors, also while a drain is at the same paste."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.paste_fixtures import Connection, codes, column, marked, record, refs, refused, value
from tests.support.writer_fixtures import later


def add_copy(db: Connection, backend: str, content: str = "h") -> None:
    """One more copy, as a replicator writes it down."""
    db.execute("select reaper.register_backend(%s)", [backend])
    db.execute(
        "insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)"
        " values (%s, %s, 'copy on ' || %s, 10, now())",
        [content, backend, backend],
    )
    db.execute("insert into reaper.byte_deltas (backend, used_bytes) values (%s, 10)", [backend])


def invalidations(db: Connection) -> list[Any]:
    """The codes whose cache entry is owed a deletion now, and who tries."""
    return db.execute(
        "select short_code, lease from reaper.invalidations where next_attempt <= reaper.clock()"
    ).fetchall()


def test_a_paste_is_readable_until_the_instant_it_expires(writer, clock):
    clock.stop()
    writer.put("a", expires="1 hour")
    clock.advance("59 minutes 59.999999 seconds")
    assert writer.get("a") is not None
    clock.advance("0.000001 seconds")
    assert writer.get("a") is None


@pytest.mark.parametrize("code", ["absent", "", None])
def test_a_paste_that_is_not_there_is_nothing(writer, code):
    assert writer.get(code) is None
    assert writer.delete(code) is False
    assert writer.extend(code) is False
    assert writer.call("copies_of", code) == []


def test_content_that_an_application_stored_lies_on_default_under_its_key_or_its_hash(writer, paste):
    paste("own", content="h", expires="1 day", own_key=True)
    paste("bare", content="g", expires="1 day", own_key=False)
    paste("unmeasured", content="i", expires="1 day", size=0)
    assert writer.get("own")[1:4] == ("default", "key of h", 10)
    assert writer.get("bare")[1:4] == ("default", "g", 10)
    assert writer.get("unmeasured")[1:4] == ("default", "key of i", 0)


def test_every_copy_is_told_those_that_answer_first(db, writer):
    key = writer.put("a").object_key
    add_copy(db, "another")
    add_copy(db, "west")
    places = [("another", "copy on another", 10), ("default", key, 10), ("west", "copy on west", 10)]
    assert [tuple(copy) for copy in writer.call("copies_of", "h")] == places
    assert writer.get("a").backend == "another"

    for _ in range(5):
        writer.call("record_backend_failure", "another", "away")
    assert [copy.backend for copy in writer.call("copies_of", "h")] == ["default", "west", "another"]
    found = writer.get("a")
    assert (found.backend, found.object_key) == ("default", key)


def test_a_copy_on_a_backend_that_does_not_answer_is_better_than_none(writer):
    writer.put("a")
    for _ in range(5):
        writer.call("record_backend_failure", "default", "away")
    assert writer.get("a").backend == "default"


def test_the_commit_names_the_copy_that_is_best_to_read(db, writer):
    writer.put("a")
    add_copy(db, "another")
    assert writer.put("b").backend == "another"


def test_copies_of_content_whose_row_is_gone_are_not_told(db, writer):
    writer.put("a")
    with db.transaction(force_rollback=True):
        db.execute("delete from pastes")
        db.execute("delete from content")
        assert writer.call("copies_of", "h") == []


def test_a_deleted_paste_is_unreadable_at_once_and_collected_by_the_next_drain(db, writer, drain):
    key = writer.put("a").object_key
    assert writer.delete("a") is True
    assert writer.get("a") is None
    assert writer.delete("a") is False
    assert codes(db) == {"a"}
    assert drain() == {key}
    assert codes(db) == set()


def test_the_cache_entry_of_a_deleted_paste_is_owed_a_deletion_at_once(db, writer):
    writer.put("a", expires=None)
    writer.delete("a")
    assert invalidations(db) == [("a", None)]


def test_a_worker_that_was_at_the_code_before_it_was_deleted_does_not_settle_the_new_debt(db, me, writer):
    writer.put("a")
    writer.delete("a")
    [held] = me.call("claim_invalidations")
    writer.extend("a")
    writer.delete("a")
    assert invalidations(db) == [("a", None)]
    with refused("RP001"):
        me.call("finish_invalidations", held.lease, "[]")


def test_an_expired_paste_cannot_be_deleted_and_owes_its_cache_nothing(db, writer, clock):
    writer.put("a", expires="1 minute")
    clock.advance("1 hour")
    assert writer.delete("a") is False
    assert invalidations(db) == []


def test_a_claimed_paste_that_was_extended_by_hand_can_be_deleted(db, writer, paste, claim, drop, finish):
    paste("a")
    batch = claim()
    db.execute("update pastes set expires_at = null")
    assert writer.get("a") is not None
    assert writer.delete("a") is True
    drop(batch)
    finish(batch)
    assert codes(db) == set()


def test_a_paste_lives_as_long_as_it_was_extended_to(writer, clock):
    writer.put("a", expires="1 hour")
    assert writer.extend("a", "2 days") is True
    clock.advance("1 day")
    assert writer.get("a") is not None
    assert writer.extend("a", None) is True
    clock.advance("100 years")
    assert writer.get("a") is not None


@pytest.mark.parametrize("expires", ["-1 second", "-1 day"])
def test_nothing_is_extended_into_the_past(writer, expires):
    writer.put("a")
    with refused("RP005", "is in the past") as caught:
        writer.extend("a", expires)
    assert "later than reaper.clock()" in caught.value.diag.message_hint
    assert writer.get("a") is not None


LIVES = {
    "shorter": ("2 days", "1 day", True),
    "with an end": (None, "1 day", True),
    "longer": ("1 day", "2 days", False),
    "without end": ("1 day", None, False),
    "as before": (None, None, False),
}


@pytest.mark.parametrize(("before", "after", "owed"), LIVES.values(), ids=LIVES)
def test_a_cache_entry_that_would_outlive_its_paste_is_owed_a_deletion(db, writer, before, after, owed):
    writer.put("a", expires=before)
    writer.extend("a", after)
    assert invalidations(db) == ([("a", None)] if owed else [])


def test_an_expired_paste_is_revived(writer, clock, drain):
    writer.put("a", expires="1 minute")
    clock.advance("1 hour")
    assert writer.get("a") is None
    assert writer.extend("a") is True
    assert writer.get("a") is not None
    assert drain() == set()


def test_a_deleted_paste_is_revived(writer, drain):
    writer.put("a")
    writer.delete("a")
    writer.extend("a")
    assert writer.get("a") is not None
    assert drain() == set()


def test_a_claimed_paste_is_revived_and_its_drop_leaves_it_alone(db, writer, paste, claim, drop, finish):
    paste("a")
    paste("b", content="other")
    batch = claim()
    assert writer.extend("a") is True
    row = record(db, "select deletion_status, deletion_initiated_at from pastes where short_code = 'a'")
    assert row == ("NOT_EXPIRED", None)
    assert [gone.content_hash for gone in drop(batch)] == ["other"]
    assert finish(batch).rows_deleted == 1
    assert codes(db) == {"a"}
    assert refs(db, "same") == 1


def test_a_paste_that_was_dropped_cannot_be_extended(writer, paste, claim, drop, finish):
    paste("a")
    batch = claim()
    drop(batch)
    assert writer.extend("a") is False
    finish(batch)
    assert writer.extend("a") is False


def test_a_paste_that_is_extended_and_deleted_again_is_released_once(db, writer, paste, worker):
    """It is in two batches then; whoever drops first has it."""
    paste("a")
    paste("b")
    one, two = worker("one"), worker("two")
    first = one.claim()
    writer.extend("a")
    writer.delete("a")
    second = two.claim()
    one.drop(first)
    two.drop(second)
    deleted = one.finish(first).rows_deleted + two.finish(second).rows_deleted
    assert deleted == 2
    assert codes(db) == set()


def test_an_extension_that_waits_for_a_drop_learns_that_the_paste_is_gone(writers, paste, worker, waits):
    paste("a")
    other = worker("w")
    batch = other.claim()
    other.connection.autocommit = False
    other.drop(batch)
    late = writers()
    with ThreadPoolExecutor(1) as thread:
        extended = thread.submit(late.extend, "a")
        waits(late.connection)
        other.connection.commit()
        assert extended.result() is False
    other.finish(batch)
    other.connection.commit()


def test_a_drop_passes_over_a_paste_that_is_being_extended(db, writers, paste, worker, reset_stuck):
    paste("a")
    other = worker("w")
    batch = other.claim()
    slow = writers(autocommit=False)
    slow.extend("a")
    assert other.drop(batch) == []
    slow.connection.commit()
    other.finish(batch)
    reset_stuck()
    assert marked(db) == set()
    assert slow.get("a") is not None


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("door", ["delete_paste('a')", "extend_paste('a', null)"])
def test_a_door_waits_for_a_row_only_so_long(db, writer, writers, door):
    writer.put("a")
    holder = writers(autocommit=False)
    holder.connection.execute("select from pastes for update")
    with refused("55P03"):
        db.execute(f"select reaper.{door}")


def test_times_are_read_and_written_as_given(db, writer):
    expires = later(db, "1 day")
    writer.call("commit_put", writer.call("begin_put", "a", "h", 1, expires)[0].intent_id, True)
    assert writer.get("a").expires_at == expires
    assert column(db, "select expires_at from pastes") == [expires]
    assert value(db, "select deletion_status from pastes") == "NOT_EXPIRED"
