"""Seed 002, the cleanup flow: each batch handles the full deletion chain."""

from tests.support.paste_fixtures import batch_codes, codes, column, contents, record, refs, value


def test_one_query_fetches_a_whole_batch_of_expired_rows(db, paste, claim):
    paste.many("p", 1000)
    assert len(batch_codes(db, claim())) == 1000


def test_every_row_takes_one_reference_with_it(db, paste, claim, drop):
    paste.many("dying", 3, content="shared")
    paste.many("alive", 2, content="shared", expires="1 day")
    drop(claim())
    assert refs(db, "shared") == 2


def test_content_whose_count_reaches_zero_is_collected_and_returned(db, paste, claim, drop):
    paste("a", content="lonely", size=42)
    paste("b", content="shared")
    paste("c", content="shared", expires="1 day")
    objects = drop(claim())
    assert objects == [("lonely", "default", "key of lonely", 42)]
    assert contents(db) == {"shared"}


def test_content_is_returned_once_although_all_its_pastes_go_together(db, paste, claim, drop):
    paste.many("p", 50, content="shared")
    assert [gone.content_hash for gone in drop(claim())] == ["shared"]
    assert contents(db) == set()


def test_objects_without_a_key_of_their_own_are_named_by_their_hash(paste, claim, drop):
    paste("a", content="abc123", own_key=False)
    assert [gone.object_key for gone in drop(claim())] == ["abc123"]


def test_a_thousand_objects_come_back_in_one_answer(paste, claim, drop):
    paste.many("p", 1000)
    assert len({gone.object_key for gone in drop(claim())}) == 1000


def test_content_and_paste_rows_are_gone_before_any_object_is_touched(db, paste, claim, drop):
    paste.many("p", 10)
    drop(claim())
    assert codes(db) == set() == contents(db)
    assert value(db, "select cardinality(object_keys) from reaper.batches where state = 'RELEASED'") == 10


def test_content_survives_while_another_paste_refers_to_it(db, paste, clock, claim, drop, finish):
    paste("Paste A", content="abc123", expires="-1 hour")
    paste("Paste B", content="abc123", expires="1 month")
    assert refs(db, "abc123") == 2

    batch = claim()
    assert drop(batch) == []
    finish(batch)
    assert refs(db, "abc123") == 1
    assert codes(db) == {"Paste B"}

    clock.advance("32 days")
    batch = claim()
    assert [gone.content_hash for gone in drop(batch)] == ["abc123"]
    finish(batch)
    assert codes(db) == set() == contents(db)


def test_cache_entries_of_all_codes_are_dropped_whatever_became_of_their_content(
    db, paste, claim, drop, finish
):
    paste("a", content="lonely")
    paste("b", content="shared")
    paste("c", content="shared", expires="1 day")
    batch = claim()
    drop(batch)
    assert batch_codes(db, batch) == {"a", "b"}
    finish(batch, failed=None)
    assert set(column(db, "select short_code from reaper.invalidations")) == {"a", "b"}


def test_the_cache_entry_of_a_paste_that_was_extended_in_time_stays(db, paste, claim, drop):
    paste("extended")
    paste("dying")
    batch = claim()
    db.execute("update pastes set expires_at = expires_at + interval '1 year' where short_code = 'extended'")
    drop(batch)
    assert batch_codes(db, batch) == {"dying"}


def test_the_run_of_a_batch_is_written_down(db, paste, claim, drop, finish):
    paste.many("p", 3, size=7)
    paste("shared", content="p00001", expires="1 day")
    batch = claim()
    drop(batch)
    figures = finish(batch)
    assert figures == (3, 0, 0, 2, 0, 14, 0, 0, 0)
    run = record(db, "select * from reaper.runs")
    assert (run.batch_id, run.worker, run.rows_claimed) == (batch, "worker-1", 3)
    assert run.claimed_at <= run.released_at <= run.finished_at
