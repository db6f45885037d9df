"""Seed 000, distributed workers: many of them, and no row is processed twice."""

from datetime import timedelta

from tests.support.paste_fixtures import batch_codes, codes, contents, marked, record, refs, refused, value


def test_each_worker_processes_a_different_subset_of_the_expired_rows(db, paste, worker):
    paste.many("p", 30)
    batches = [worker(f"w{i}").claim(10) for i in range(3)]
    taken = [batch_codes(db, batch) for batch in batches]
    assert [len(subset) for subset in taken] == [10, 10, 10]
    assert set.union(*taken) == codes(db)


def test_two_workers_never_get_overlapping_rows(db, paste, worker):
    paste.many("p", 20)
    first, second = worker("first"), worker("second")
    with first.connection.transaction(), second.connection.transaction():
        ours, theirs = first.claim(10), second.claim(10)
    assert batch_codes(db, ours) & batch_codes(db, theirs) == set()
    assert batch_codes(db, ours) | batch_codes(db, theirs) == codes(db)


def test_nobody_waits_for_a_claim_that_is_not_committed_yet(paste, worker):
    paste.many("p", 10)
    first, second = worker("first"), worker("second")
    second.connection.execute("set lock_timeout = '1ms'")
    with first.connection.transaction():
        first.claim()
        assert second.try_claim() is None


def test_a_claim_marks_its_rows_at_once_with_the_time(db, paste, claim):
    paste("a")
    before = value(db, "select reaper.clock()")
    claim()
    row = record(db, "select deletion_status, deletion_initiated_at from pastes")
    assert row.deletion_status == "DELETION_IN_PROGRESS"
    assert timedelta(0) <= row.deletion_initiated_at - before < timedelta(minutes=1)


def test_rows_already_claimed_are_never_seen_by_another_claim(db, paste, worker):
    paste("a")
    worker("first").claim()
    assert worker("second").try_claim() is None
    assert marked(db) == {"a"}


def test_only_rows_whose_time_has_come_are_claimed(db, paste, claim):
    paste("past", expires="-1 second")
    paste("future", expires="1 hour")
    paste("never", expires=None)
    assert batch_codes(db, claim()) == {"past"}


def test_a_row_is_due_at_the_very_instant_of_its_expiry_and_not_before(db, paste, clock, me):
    clock.stop()
    paste("a", expires="1 hour")
    clock.advance("59 minutes 59.999999 seconds")
    assert me.try_claim() is None
    clock.advance("1 microsecond")
    assert batch_codes(db, me.claim()) == {"a"}


def test_a_claim_takes_the_oldest_rows_up_to_its_limit(db, paste, claim):
    for age in (5, 3, 1, 4, 2):
        paste(f"{age} hours", expires=f"-{age} hours")
    assert batch_codes(db, claim(2)) == {"5 hours", "4 hours"}


def test_a_batch_holds_1000_rows_unless_told_otherwise(db, paste, me):
    paste.many("p", 1001)
    assert me.call("claim_expired")[0].claimed == 1000
    assert len(marked(db)) == 1000


def test_a_batch_is_processed_without_hindering_other_workers(db, paste, worker):
    paste.many("p", 20)
    first, second = worker("first"), worker("second")
    batch = first.claim(10)
    second.connection.execute("set lock_timeout = '1ms'")
    with first.connection.transaction():
        first.drop(batch)
        other = second.claim(10)
        second.drop(other)
        second.finish(other)
    assert codes(db) == set()


def test_ref_count_is_decremented_once_per_row_however_many_workers_try(db, paste, worker):
    paste.many("dying", 4, content="shared")
    paste("alive", content="shared", expires="1 day")
    workers = [worker(f"w{i}") for i in range(3)]
    batches = [each.try_claim(2) for each in workers]
    assert batches[2] is None
    for each in workers:
        for batch in batches[:2]:
            each.drop(batch)
    assert refs(db, "shared") == 1


def test_ref_count_never_becomes_negative(db, paste, drain):
    paste.many("dying", 5, content="shared")
    db.execute("update content set ref_count = 2")
    paste("alive", content="shared", expires="1 day", ref=False)
    drain()
    assert refs(db, "shared") == 1


def test_the_second_deletion_of_a_batch_is_refused_not_silent(paste, worker):
    paste("a")
    first, second = worker("first"), worker("second")
    batch = first.claim()
    first.drop(batch)
    first.finish(batch)
    with refused("RP001"):
        second.drop(batch)


def test_a_worker_loops_until_no_expired_row_is_found(db, paste, drain):
    paste.many("p", 95)
    paste("future", expires="1 day")
    drain(limit=10)
    assert codes(db) == {"future"}
    assert contents(db) == {"same"}


def test_a_batch_that_is_not_full_does_not_mean_that_all_is_done(db, paste, worker):
    paste.many("p", 15)
    first, second = worker("first"), worker("second")
    with first.connection.transaction(force_rollback=True):
        first.claim(10)
        assert len(batch_codes(second.connection, second.claim(10))) == 5
    assert len(batch_codes(db, first.claim(10))) == 10
