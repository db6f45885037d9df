"""drop_references: exactly once, only from rows that are still marked and still expired."""

import threading
from uuid import uuid4

import pytest

from tests.support.paste_fixtures import (
    batch_codes,
    codes,
    contents,
    marked,
    record,
    refs,
    refusals,
    refused,
    value,
)


@pytest.mark.parametrize("batch", [uuid4(), None])
def test_an_unknown_batch_is_refused_and_counted(db, drop, batch):
    with refused("RP001", "is no longer held") as refusal:
        drop(batch)
    assert "Nothing is lost" in refusal.value.diag.message_hint
    assert refusal.value.diag.message_detail == "The batch is gone, not claimed or released."
    assert refusals(db) == 1


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_other_isolation_levels_are_refused_with_the_way_out(db, paste, claim, drop, level):
    paste("a")
    batch = claim()
    with refused("RP006", level) as refusal, db.transaction():
        db.execute(f"set transaction isolation level {level}")
        drop(batch)
    assert "read committed" in refusal.value.diag.message_hint
    assert codes(db) == marked(db) == {"a"}


def test_dropped_twice_it_returns_the_same_set_and_releases_nothing_twice(db, paste, claim, drop):
    paste.many("lonely", 3)
    paste("a", content="shared")
    paste("b", content="shared", expires="1 day")
    batch = claim()
    first = drop(batch)
    assert len(first) == 3
    assert sorted(drop(batch)) == sorted(first)
    assert refs(db, "shared") == 1


def test_a_drop_that_is_rolled_back_never_was(db, paste, claim, drop):
    paste("a")
    batch = claim()
    with db.transaction(force_rollback=True):
        assert len(drop(batch)) == 1
    assert marked(db) == {"a"}
    assert contents(db) == {"same"}
    assert len(drop(batch)) == 1


def test_a_paste_extended_between_claim_and_drop_is_given_back_alive(db, paste, claim, drop, finish):
    paste("extended")
    paste("forever")
    paste("dying")
    batch = claim()
    db.execute(
        "update pastes set expires_at = reaper.clock() + interval '1 day' where short_code = 'extended'"
    )
    db.execute("update pastes set expires_at = null where short_code = 'forever'")
    assert drop(batch) == []
    assert codes(db) == {"extended", "forever"}
    assert marked(db) == set()
    assert value(db, "select count(deletion_initiated_at) from pastes") == 0
    assert refs(db, "same") == 2
    assert finish(batch)[:2] == (1, 2)


def test_a_paste_unmarked_between_claim_and_drop_is_left_alone(db, paste, claim, drop):
    paste("a")
    batch = claim()
    db.execute("update pastes set deletion_status = 'NOT_EXPIRED', deletion_initiated_at = null")
    assert drop(batch) == []
    assert codes(db) == {"a"}


def test_a_paste_its_user_deleted_between_claim_and_drop_costs_no_second_reference(
    db, paste, claim, drop, finish
):
    paste("deleted", content="shared")
    paste("dying", content="shared")
    paste("alive", content="shared", expires="1 day")
    batch = claim()
    db.execute("update content set ref_count = ref_count - 1")
    db.execute("delete from pastes where short_code = 'deleted'")
    assert drop(batch) == []
    assert refs(db, "shared") == 1
    assert batch_codes(db, batch) == {"dying"}
    assert finish(batch)[:3] == (1, 0, 0)


def test_content_that_its_user_collected_himself_is_not_returned(db, paste, claim, drop):
    paste("a", content="lonely")
    batch = claim()
    db.execute("delete from pastes")
    db.execute("delete from content")
    assert drop(batch) == []


def test_the_reference_that_is_released_is_the_one_the_row_has_now(db, paste, claim, drop):
    paste("moved", content="old")
    paste("alive", content="new", expires="1 day")
    batch = claim()
    db.execute("update pastes set content_hash = 'new' where short_code = 'moved'")
    db.execute("update content set ref_count = case content_hash when 'old' then 0 else 2 end")
    assert drop(batch) == []
    assert contents(db) == {"old", "new"}
    assert (refs(db, "old"), refs(db, "new")) == (0, 1)


def test_rows_that_swap_their_content_in_one_batch_release_each_once(db, paste, claim, drop):
    paste("a", content="x")
    paste("b", content="y")
    batch = claim()
    db.execute("update pastes set content_hash = case content_hash when 'x' then 'y' else 'x' end")
    assert {gone.content_hash for gone in drop(batch)} == {"x", "y"}
    assert codes(db) == set()


def test_a_row_that_somebody_holds_is_not_waited_for_and_is_not_forgotten(
    db, paste, worker, claim, drop, reset_stuck, drain, invariants
):
    paste.many("p", 3)
    batch = claim()
    writer = worker("writer").connection
    with writer.transaction():
        writer.execute("select from pastes where short_code = 'p00002' for no key update")
        drop(batch)
        assert marked(db) == {"p00002"}
        assert invariants() == []
        assert reset_stuck() == (0, 1, 0)
        assert marked(db) == {"p00002"}
    assert reset_stuck() == (1, 1, 0)
    drain()
    assert codes(db) == set()


def test_a_batch_of_which_nothing_is_left_is_released_empty(db, paste, claim, drop, finish):
    paste("a")
    batch = claim()
    db.execute("update content set ref_count = 0")
    db.execute("delete from pastes")
    assert drop(batch) == []
    assert finish(batch) == (0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert contents(db) == {"same"}


def test_an_unknown_size_stays_unknown(db, paste, claim, drop, finish):
    db.execute("alter table content alter size_bytes drop not null")
    paste("a", content="sized", size=5)
    paste("b", content="unsized", size=None)
    batch = claim()
    assert {gone.content_hash: gone.size_bytes for gone in drop(batch)} == {"sized": 5, "unsized": None}
    assert finish(batch).bytes_freed == 5


@pytest.mark.parametrize("careless", ["off", "local"])
def test_what_objects_are_deleted_for_is_durable_even_in_a_careless_session(db, paste, claim, drop, careless):
    paste("a")
    batch = claim()
    db.execute(f"set synchronous_commit = {careless}")
    with db.transaction():
        drop(batch)
        assert value(db, "show synchronous_commit") == "on"


def test_a_stricter_session_stays_as_strict(db, paste, claim, drop):
    paste("a")
    batch = claim()
    db.execute("set synchronous_commit = remote_apply")
    with db.transaction():
        drop(batch)
        assert value(db, "show synchronous_commit") == "remote_apply"


def test_content_that_a_writer_holds_too_long_keeps_its_own_pastes_back_and_no_others(
    db, paste, worker, claim, drop, drain
):
    paste("a", content="held")
    paste("b", content="free")
    batch = claim()
    assert "lock_timeout=2s" in value(
        db, "select proconfig from pg_proc where oid = 'reaper.drop_references(uuid)'::regprocedure"
    )
    db.execute("alter function reaper.drop_references(uuid) set lock_timeout = '10ms'")
    writer = worker("writer").connection
    with writer.transaction():
        writer.execute("update content set ref_count = ref_count where content_hash = 'held'")
        assert [gone.content_hash for gone in drop(batch)] == ["free"]
    assert (codes(db), marked(db)) == ({"a"}, set())
    assert value(db, "select count(*) from reaper.blocked") == 0
    drain()
    assert codes(db) == set()


def test_a_tenth_of_the_pastes_is_left_to_who_holds_their_content_and_nobody_waits(
    db, paste, worker, claim, drop, drain
):
    paste.many("p", 19)
    paste("x", content="held")
    batch = claim()
    # Whoever waited, if only for a moment, would fail the test.
    db.execute("alter function reaper.drop_references(uuid) set lock_timeout = '1h'")
    writer = worker("writer").connection
    with writer.transaction():
        writer.execute("insert into pastes (short_code, content_hash) values ('late', 'held')")
        writer.execute("update content set ref_count = ref_count + 1 where content_hash = 'held'")
        assert len(drop(batch)) == 19
        assert (codes(db), marked(db)) == ({"x"}, set())
    drain()
    assert (codes(db), refs(db, "held")) == ({"late"}, 1)


def test_pastes_whose_content_is_lost_go_beside_some_whose_content_is_held(db, paste, worker, claim, drop):
    paste.many("p", 30)
    batch = claim()
    with db.transaction():
        db.execute("set local session_replication_role = replica")
        db.execute("delete from content where content_hash in ('p00001', 'p00002')")
    writer = worker("writer").connection
    with writer.transaction():
        writer.execute("select from content where content_hash = 'p00003' for key share")
        assert len(drop(batch)) == 27
        assert codes(db) == {"p00003"}


def test_a_broken_promise_of_the_callers_own_transaction_is_not_blamed_on_the_rows(db, paste, claim, drop):
    paste.many("p", 3)
    batch = claim()
    db.execute("create table notes (code text references pastes deferrable initially deferred)")
    with refused("23503"), db.transaction():
        db.execute("insert into notes values ('nowhere')")
        drop(batch)
    assert value(db, "select count(*) from reaper.blocked") == 0
    assert len(drop(batch)) == 3


def test_a_paste_inserted_while_the_drop_waits_keeps_its_content(db, paste, worker, me, waits):
    paste("dying", content="shared")
    batch = me.claim()
    dropper, writer = worker("dropper"), worker("writer").connection
    with writer.transaction():
        writer.execute("insert into pastes (short_code, content_hash) values ('late', 'shared')")
        thread = threading.Thread(target=dropper.drop, args=[batch])
        thread.start()
        waits(dropper.connection)
        writer.execute("update content set ref_count = ref_count + 1")
    thread.join()
    assert codes(db) == {"late"}
    assert refs(db, "shared") == 1
    assert record(db, "select cardinality(object_keys) as objects from reaper.batches").objects == 0
