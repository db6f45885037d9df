"""finish_batch: what succeeded is forgotten, what failed is owed, and nothing else can be slipped in."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest

from tests.support.paste_fixtures import column, record, refusals, refused, value


@pytest.fixture
def released(paste, claim, drop):
    """A released batch of pastes a, b, c with objects "key of a", … of ten bytes each."""
    for code in "abc":
        paste(code, content=code)
    batch = claim()
    drop(batch)
    return batch


def queue(db, table):
    return {
        row[0]: row[1:] for row in db.execute(f"select object_key, attempts, last_error from reaper.{table}")
    }


def test_an_empty_list_means_that_all_succeeded(db, released, finish):
    assert finish(released, failed=[]) == (3, 0, 0, 3, 0, 30, 0, 0, 0)
    for table in ("batches", "cleanup_queue", "cleanup_dlq", "invalidations"):
        assert value(db, f"select count(*) from reaper.{table}") == 0


def test_null_means_that_nothing_was_tried_and_all_is_queued_for_now(db, released, finish):
    assert finish(released, failed=None) == (3, 0, 0, 0, 3, 0, 3, 0, 0)
    assert queue(db, "cleanup_queue") == {f"key of {code}": (0, None) for code in "abc"}
    row = record(
        db, "select min(next_attempt) = max(queued_at) as now, count(*) as objects from reaper.cleanup_queue"
    )
    assert row == (True, 3)
    codes = db.execute(
        "select short_code, attempts, next_attempt = queued_at from reaper.invalidations"
    ).fetchall()
    assert sorted(codes) == [(code, 0, True) for code in "abc"]


def test_null_is_the_default(db, released):
    db.execute("select reaper.finish_batch(%s)", [released])
    assert value(db, "select count(*) from reaper.cleanup_queue") == 3


def test_failures_go_to_the_queues_with_their_reason_and_a_pause(db, released, finish):
    failed = [{"object_key": "key of a", "error": "SlowDown"}, {"short_code": "b", "error": "refused"}]
    assert finish(released, failed) == (3, 0, 0, 2, 1, 20, 1, 0, 0)
    assert queue(db, "cleanup_queue") == {"key of a": (1, "SlowDown")}
    row = record(db, "select *, next_attempt - queued_at as pause from reaper.cleanup_queue")
    assert (row.backend, row.content_hash, row.size_bytes) == ("default", "a", 10)
    assert timedelta(seconds=60) <= row.pause <= timedelta(seconds=72)
    row = record(db, "select *, next_attempt - queued_at as pause from reaper.invalidations")
    assert (row.short_code, row.attempts, row.last_error) == ("b", 1, "refused")
    assert row.pause == timedelta(minutes=1)


def test_an_outage_costs_no_attempt_and_is_tried_again_soon(db, released, finish):
    assert (
        finish(released, [{"object_key": "key of a", "error": "timeout", "outage": True}]).objects_failed == 1
    )
    row = record(db, "select *, next_attempt - queued_at as pause from reaper.cleanup_queue")
    assert (row.attempts, row.outages, row.last_error) == (0, 1, "timeout")
    assert timedelta(seconds=60) <= row.pause <= timedelta(seconds=72)


@pytest.mark.parametrize("state", ["open", "half_open"])
def test_what_waits_for_a_backend_that_is_left_alone_is_due_as_soon_as_it_is_back(
    db, released, finish, state
):
    probe = ("gen_random_uuid()", "now()") if state == "half_open" else ("null", "null")
    db.execute(
        "insert into reaper.circuits (backend, state, changed_at, retry_at, probe, probe_started_at)"
        f" values ('default', '{state}', now(), now(), {probe[0]}, {probe[1]})"
    )
    finish(released, [{"object_key": "key of a", "outage": True}, {"object_key": "key of b"}])
    due = "select object_key from reaper.cleanup_queue where next_attempt = queued_at"
    assert column(db, due) == ["key of a"]


def test_permanent_failures_are_buried_for_an_operator(db, released, finish):
    failed = [{"backend": "default", "object_key": "key of a", "error": "AccessDenied", "permanent": True}]
    assert finish(released, failed) == (3, 0, 0, 2, 1, 20, 0, 1, 0)
    assert queue(db, "cleanup_dlq") == {"key of a": (1, "AccessDenied")}
    assert column(db, "select cause from reaper.cleanup_dlq") == ["AccessDenied"]
    assert queue(db, "cleanup_queue") == {}


def test_an_object_reported_twice_is_queued_once_with_the_worst_verdict(db, released, finish):
    failed = [
        {"object_key": "key of a", "error": "SlowDown"},
        {"object_key": "key of a", "error": "AccessDenied", "permanent": True},
    ]
    assert finish(released, failed).objects_failed == 1
    assert queue(db, "cleanup_dlq") == {"key of a": (1, "AccessDenied")}
    assert queue(db, "cleanup_queue") == {}


def test_a_code_reported_twice_is_queued_once(db, released, finish):
    failed = [{"short_code": "a", "error": "x"}, {"short_code": "a", "error": "y"}]
    assert finish(released, failed).invalidations_failed == 1
    assert column(db, "select short_code from reaper.invalidations") == ["a"]


def test_a_failure_without_a_reason_is_accepted(db, released, finish):
    finish(released, [{"object_key": "key of a"}, {"short_code": "a"}])
    assert queue(db, "cleanup_queue") == {"key of a": (1, "no error text")}


def test_an_endless_error_message_is_cut(db, released, finish):
    finish(
        released, [{"object_key": "key of a", "error": "x" * 5000}, {"short_code": "a", "error": "x" * 5000}]
    )
    assert value(db, "select length(last_error) from reaper.cleanup_queue") == 1000
    assert value(db, "select length(last_error) from reaper.invalidations") == 1000


@pytest.mark.parametrize(
    "stranger",
    [
        {"object_key": "key of a live paste"},
        {"object_key": "key of a", "backend": "elsewhere"},
        {"short_code": "stranger"},
        {"object_key": None},
        {"short_code": None},
        {"error": "of nothing"},
        {},
        "key of a",
        ["key of a"],
        None,
        17,
    ],
    ids=str,
)
def test_what_is_not_in_the_batch_is_refused_and_nothing_is_settled(db, released, finish, stranger):
    with refused("RP005", "does not hold this object or code") as refusal:
        finish(released, [{"object_key": "key of a"}, stranger])
    assert "drop_references or adopt_batch" in refusal.value.diag.message_hint
    assert value(db, "select count(*) from reaper.batches") == 1
    assert value(db, "select count(*) from reaper.cleanup_queue") == 0


@pytest.mark.parametrize("report", ["{}", "null", '"all"', "1"])
def test_a_report_that_is_not_an_array_is_refused_with_the_three_forms(me, released, report):
    with refused("RP005", "must be a JSON array") as refusal:
        me.call("finish_batch", released, report)
    assert "'[]' when all succeeded, null when nothing was tried" in refusal.value.diag.message_hint


@pytest.mark.parametrize("verdict", ["permanent", "outage"])
def test_a_verdict_that_is_neither_true_nor_false_is_refused_with_a_hint(me, released, verdict):
    with refused("RP005") as refusal:
        me.call("finish_batch", released, json.dumps([{"object_key": "key of a", verdict: "perhaps"}]))
    assert verdict in refusal.value.diag.message_hint


@pytest.mark.parametrize("batch", [uuid4(), None])
def test_an_unknown_batch_is_refused_and_counted(db, finish, batch):
    with refused("RP001"):
        finish(batch)
    assert refusals(db) == 1


def test_a_batch_whose_references_are_not_dropped_yet_cannot_be_finished(db, paste, claim, finish):
    paste("a")
    batch = claim()
    with refused("RP001") as refusal:
        finish(batch)
    assert refusal.value.diag.message_detail == "The batch is claimed, not released."
    assert value(db, "select state from reaper.batches") == "CLAIMED"


def test_a_batch_is_finished_once(db, released, finish):
    finish(released)
    with refused("RP001"):
        finish(released)
    assert value(db, "select count(*) from reaper.runs") == 1


def test_a_code_that_waits_for_its_invalidation_already_waits_on(db, released, finish):
    db.execute(
        "insert into reaper.invalidations (short_code, attempts, queued_at, next_attempt)"
        " values ('a', 7, now(), now())"
    )
    finish(released, [{"short_code": "a", "error": "again"}])
    assert record(db, "select attempts, last_error from reaper.invalidations") == (7, "again")


def test_a_run_remembers_which_pastes_and_contents_went_with_it(db, released, finish):
    finish(released)
    row = record(db, "select short_codes, content_hashes from reaper.runs")
    assert (sorted(row.short_codes), sorted(row.content_hashes)) == ([*"abc"], [*"abc"])


def test_a_run_remembers_nothing_where_it_is_not_to(db, released, finish):
    db.execute("update reaper.settings set keep_codes = '0'")
    finish(released)
    assert record(db, "select short_codes, content_hashes from reaper.runs") == (None, None)


def test_a_run_forgets_codes_and_hashes_after_a_while_and_keeps_its_figures(db, released, finish, clock):
    finish(released)
    clock.advance("2 days")
    assert value(db, "select reaper.prune_history()") == 0
    clock.advance("1 day")
    assert value(db, "select reaper.prune_history()") == 1
    row = record(db, "select short_codes, content_hashes, rows_deleted from reaper.runs")
    assert row == (None, None, 3)
    assert value(db, "select reaper.prune_history()") == 0


def test_the_run_belongs_to_whoever_finished_it(db, released, worker, finish):
    db.execute("select reaper.disown_batch(%s)", [released])
    adopted = worker("heir").adopt()
    finish(adopted.batch_id)
    assert record(db, "select worker, batch_id from reaper.runs") == ("heir", adopted.batch_id)


def test_deleted_objects_without_a_known_size_are_counted_apart(db, paste, claim, drop, finish):
    db.execute("alter table content alter size_bytes drop not null")
    paste("a", content="known")
    paste("b", content="unknown", size=None)
    batch = claim()
    drop(batch)
    figures = finish(batch)
    assert (figures.objects_deleted, figures.bytes_freed, figures.objects_unsized) == (2, 10, 1)
