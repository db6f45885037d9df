"""heartbeat, reset_stuck and its kin: who holds a batch, until when, and who gets it next."""

from uuid import uuid4

import pytest

from tests.support.paste_fixtures import codes, column, marked, record, refused, value

MARK = "update pastes set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = "


@pytest.mark.parametrize("age", ["-1 second", None])
def test_a_negative_age_is_refused_with_a_hint(reset_stuck, age):
    with refused("RP005", "must not be null or negative") as refusal:
        reset_stuck(age)
    assert "2 hours" in refusal.value.diag.message_hint


@pytest.mark.parametrize("function", ["heartbeat", "adopt_batch"])
@pytest.mark.parametrize("name", ["", None])
def test_nobody_has_no_heartbeat_and_adopts_nothing(me, function, name):
    with refused("RP005", "p_worker must not be empty"):
        me.call(function, name)


def test_a_worker_that_was_heard_and_fell_silent_for_60_seconds_loses_its_claim(
    db, paste, clock, worker, reset_stuck
):
    paste.many("p", 2)
    silent = worker("silent")
    silent.heartbeat()
    silent.claim()
    clock.stop()
    clock.advance("59 seconds")
    assert reset_stuck() == (0, 0, 0)
    clock.advance("2 seconds")
    assert reset_stuck() == (2, 1, 0)
    assert marked(db) == set()


def test_a_worker_that_was_never_heard_is_judged_after_two_hours(paste, clock, worker, reset_stuck):
    paste("a")
    worker("mute").claim()
    clock.advance("119 minutes")
    assert reset_stuck() == (0, 0, 0)
    clock.advance("1 minute")
    assert reset_stuck() == (1, 1, 0)


def test_a_claim_that_is_held_for_two_hours_is_lost_even_by_a_living_worker(
    paste, clock, worker, reset_stuck
):
    paste("a")
    hanging = worker("hanging")
    batch = hanging.claim()
    clock.advance("2 hours")
    hanging.heartbeat()
    assert reset_stuck() == (1, 1, 0)
    with refused("RP001"):
        hanging.drop(batch)


def test_a_released_batch_stays_with_its_worker_as_long_as_that_is_heard(
    db, paste, clock, worker, reset_stuck
):
    paste("a")
    busy = worker("busy")
    batch = busy.claim()
    busy.drop(batch)
    clock.advance("1 day")
    busy.heartbeat()
    assert reset_stuck() == (0, 0, 0)
    clock.advance("61 seconds")
    assert reset_stuck() == (0, 0, 1)
    assert value(db, "select worker from reaper.batches") is None


def test_the_silence_that_counts_as_death_is_a_setting(db, paste, clock, worker, reset_stuck):
    db.execute("update reaper.settings set worker_silence = '10 minutes'")
    paste("a")
    silent = worker("silent")
    silent.heartbeat()
    silent.claim()
    clock.advance("9 minutes")
    assert reset_stuck() == (0, 0, 0)
    clock.advance("2 minutes")
    assert reset_stuck() == (1, 1, 0)


def test_the_age_of_a_stuck_batch_may_be_given(paste, clock, worker, reset_stuck):
    paste("a")
    worker("w").claim()
    clock.advance("5 minutes")
    assert reset_stuck("10 minutes") == (0, 0, 0)
    assert reset_stuck("5 minutes") == (1, 1, 0)


def test_a_heartbeat_keeps_the_first_time_and_moves_the_last(db, clock, me):
    me.heartbeat()
    clock.advance("1 minute")
    me.heartbeat()
    assert record(db, "select worker, beat_at > started_at as moved from reaper.workers") == (
        "worker-1",
        True,
    )


def test_workers_that_are_gone_for_a_day_are_forgotten_unless_they_hold_something(
    db, paste, clock, worker, reset_stuck
):
    paste("a")
    idle, holder = worker("idle"), worker("holder")
    idle.heartbeat()
    holder.heartbeat()
    holder.drop(holder.claim())
    clock.advance("23 hours")
    reset_stuck()
    assert set(column(db, "select worker from reaper.workers")) == {"idle", "holder"}
    clock.advance("2 hours")
    reset_stuck()
    assert column(db, "select worker from reaper.workers") == []


def test_a_worker_that_wakes_up_after_hours_and_dies_at_once_is_known_to_be_silent(
    paste, clock, worker, reset_stuck
):
    """It claims before its next heartbeat; without its row, its batch would wait for two hours."""
    sleeper = worker("sleeper")
    sleeper.heartbeat()
    clock.advance("3 hours")
    reset_stuck()
    paste("a")
    sleeper.claim()
    assert reset_stuck().batches_reset == 1


def test_one_call_takes_back_a_hundred_batches_at_most_and_says_how_many(
    db, paste, clock, worker, reset_stuck
):
    paste.many("p", 120)
    dead = worker("dead")
    for _ in range(120):
        dead.claim(1)
    clock.advance("2 hours")
    assert reset_stuck() == (100, 100, 0)
    assert reset_stuck() == (20, 20, 0)
    assert marked(db) == set()


def test_a_batch_that_is_being_dropped_at_this_moment_is_left_alone(db, paste, clock, worker, reset_stuck):
    paste("a")
    slow = worker("slow")
    batch = slow.claim()
    clock.advance("2 hours")
    db.execute("set lock_timeout = '1ms'")
    with slow.connection.transaction():
        slow.drop(batch)
        assert reset_stuck() == (0, 0, 0)
    assert codes(db) == set()


def test_an_extended_row_is_reset_like_the_others_and_lives_on(db, paste, clock, worker, reset_stuck, drain):
    paste("extended")
    worker("dead").claim()
    db.execute("update pastes set expires_at = null")
    clock.advance("2 hours")
    assert reset_stuck() == (1, 1, 0)
    drain()
    assert codes(db) == {"extended"}
    assert marked(db) == set()


def test_the_oldest_ownerless_batch_is_adopted_first(db, paste, clock, worker):
    paste.many("p", 2)
    first, heir = worker("first"), worker("heir")
    batches = [first.claim(1), first.claim(1)]
    for batch in reversed(batches):
        first.drop(batch)
        first.call("disown_batch", batch)
        clock.advance("1 minute")
    assert [heir.adopt().short_codes, heir.adopt().short_codes] == [["p00002"], ["p00001"]]
    assert heir.adopt() is None
    assert column(db, "select worker from reaper.batches") == ["heir", "heir"]


def test_a_batch_that_somebody_holds_is_not_adopted(paste, worker):
    paste("a")
    holder = worker("holder")
    holder.drop(holder.claim())
    assert worker("heir").adopt() is None


def test_an_ownerless_claim_is_not_adopted(db, paste, claim, me):
    paste("a")
    claim()
    db.execute("update reaper.batches set worker = null")
    assert me.adopt() is None


def test_two_heirs_get_two_batches_or_nothing(paste, worker):
    paste("a")
    holder, first, second = worker("holder"), worker("first"), worker("second")
    batch = holder.claim()
    holder.drop(batch)
    holder.call("disown_batch", batch)
    with first.connection.transaction():
        assert first.adopt() is not None
        assert second.adopt() is None


def test_an_adopted_batch_is_held_from_then_on(paste, clock, worker, reset_stuck):
    paste("a")
    holder, heir = worker("holder"), worker("heir")
    batch = holder.claim()
    holder.drop(batch)
    clock.advance("2 hours")
    reset_stuck()
    heir.adopt()
    clock.advance("119 minutes")
    assert reset_stuck() == (0, 0, 0)
    clock.advance("1 minute")
    assert reset_stuck() == (0, 0, 1)


def test_a_batch_given_back_is_as_if_it_had_never_been_claimed(db, paste, claim, me):
    paste.many("p", 2)
    assert me.call("return_batch", claim())[0] == (2,)
    assert marked(db) == set()
    assert value(db, "select count(*) from reaper.batches") == 0


def test_a_released_batch_cannot_be_given_back(paste, claim, drop, me):
    paste("a")
    batch = claim()
    drop(batch)
    with refused("RP001"):
        me.call("return_batch", batch)


@pytest.mark.parametrize("function", ["return_batch", "disown_batch"])
def test_an_unknown_batch_can_neither_be_given_back_nor_disowned(me, function):
    with refused("RP001"):
        me.call(function, uuid4())


def test_a_claimed_batch_cannot_be_disowned(paste, claim, me):
    paste("a")
    with refused("RP001"):
        me.call("disown_batch", claim())


def test_strays_are_looked_for_in_pages_and_a_long_pass_is_made_once_an_hour(db, paste, clock, me):
    paste.many("p", 25)
    db.execute(MARK + "reaper.clock()")
    clock.advance("2 hours")
    pages = [me.call("reset_strays", "2 hours", 10)[0][0] for _ in range(4)]
    assert pages == [10, 10, 5, 0]
    db.execute(MARK + "'-infinity'")
    assert me.call("reset_strays", "2 hours", 10)[0][0] == 0
    clock.advance("1 hour")
    assert sum(me.call("reset_strays", "2 hours", 10)[0][0] for _ in range(3)) == 25


def test_a_pass_that_fits_into_a_page_is_made_at_every_call(db, paste, clock, me):
    paste.many("p", 5)
    for _ in range(3):
        db.execute(MARK + "reaper.clock()")
        clock.advance("2 hours")
        assert me.call("reset_strays")[0] == (5,)


def test_marked_rows_of_a_batch_are_no_strays(db, paste, worker, me):
    paste.many("p", 2)
    worker("w").claim(1)
    db.execute(MARK + "'-infinity'")
    assert me.call("reset_strays")[0] == (1,)
    assert marked(db) == {"p00001"}


@pytest.mark.parametrize("page", [0, -1, None])
def test_a_page_of_strays_has_at_least_one_row(me, page):
    with refused("RP005"):
        me.call("reset_strays", "2 hours", page)
