"""Zombies: a worker that was thought dead wakes up, and comes no further than its token."""

import pytest

from tests.support.paste_fixtures import codes, marked, record, refs, refusals, refused, value


@pytest.fixture
def lost(paste, clock, worker, reset_stuck):
    """A worker whose rows were reset and are held by somebody else, and the batch that it believes in."""
    paste.many("p", 3)
    paste("shared", content="p00001", expires="1 year")
    zombie = worker("zombie")
    batch = zombie.claim()
    clock.advance("2 hours")
    assert reset_stuck() == (3, 1, 0)
    return zombie, batch


@pytest.mark.parametrize("action", ["drop_references", "finish_batch", "return_batch", "disown_batch"])
def test_a_zombie_is_refused_whatever_it_tries_and_changes_nothing(db, lost, worker, action):
    zombie, batch = lost
    worker("heir").claim()
    before = (codes(db), marked(db), refs(db, "p00001"), record(db, "select * from reaper.batches"))
    with refused("RP001", str(batch)):
        zombie.call(action, batch)
    assert (codes(db), marked(db), refs(db, "p00001"), record(db, "select * from reaper.batches")) == before


def test_a_refusal_is_counted_although_its_transaction_rolls_back(db, lost):
    zombie, batch = lost
    for _ in range(3):
        with refused("RP001"), zombie.connection.transaction():
            zombie.drop(batch)
    assert refusals(db) == 3
    assert value(db, "select refusals from reaper.health") == 3


def test_the_new_holder_is_not_disturbed_by_the_zombie(db, lost, worker):
    zombie, batch = lost
    heir = worker("heir")
    theirs = heir.claim()
    with refused("RP001"):
        zombie.drop(batch)
    assert {gone.content_hash for gone in heir.drop(theirs)} == {"p00002", "p00003"}
    assert refs(db, "p00001") == 1
    assert codes(db) == {"shared"}


def test_a_zombie_may_simply_claim_anew(lost):
    zombie, _ = lost
    assert len(zombie.drop(zombie.claim())) == 2


def test_a_released_batch_is_never_reset_but_orphaned_and_adopted_under_a_new_uuid(
    db, paste, clock, worker, reset_stuck
):
    paste.many("p", 3)
    zombie, heir = worker("zombie"), worker("heir")
    batch = zombie.claim()
    objects = zombie.drop(batch)
    clock.advance("2 hours")
    assert reset_stuck() == (0, 0, 1)
    assert record(db, "select state, worker from reaper.batches") == ("RELEASED", None)

    adopted = heir.adopt()
    assert adopted.batch_id != batch
    assert set(adopted.short_codes) == {"p00001", "p00002", "p00003"}
    columns = zip(adopted.content_hashes, adopted.backends, adopted.object_keys, adopted.sizes, strict=True)
    assert sorted(columns) == sorted(objects)

    for attempt in (zombie.drop, zombie.finish):
        with refused("RP001"):
            attempt(batch)
    assert refusals(db) == 2
    assert heir.finish(adopted.batch_id).objects_deleted == 3


def test_a_released_batch_that_nobody_adopted_yet_may_still_be_finished_by_its_holder(
    paste, clock, worker, reset_stuck
):
    paste("a")
    slow = worker("slow")
    batch = slow.claim()
    slow.drop(batch)
    clock.advance("2 hours")
    reset_stuck()
    assert slow.finish(batch).rows_deleted == 1
    assert worker("heir").adopt() is None
