"""What is owed from earlier drains: leased, settled under a token, tried ever more rarely, given up."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.support.paste_fixtures import column, record, refused, value


def owed(me, paste, count=3, own_key=True) -> list[str]:
    """Objects whose deletion nobody has tried yet."""
    paste.many("p", count, own_key=own_key)
    batch = me.claim()
    keys = sorted(gone.object_key for gone in me.drop(batch))
    me.finish(batch, None)
    return keys


def failed(*keys: str, permanent: bool = False, error: str = "SlowDown") -> str:
    return json.dumps([{"object_key": key, "error": error, "permanent": permanent} for key in keys])


def lease(me) -> tuple[Any, list[str]]:
    rows = me.call("claim_cleanup", 1000)
    return (rows[0].lease, sorted(row.object_key for row in rows)) if rows else (None, [])


def test_what_was_never_tried_is_due_at_once_and_gone_when_it_is_settled(db, paste, me):
    keys = owed(me, paste)
    token, leased = lease(me)
    assert leased == keys
    assert me.call("finish_cleanup", token, "[]")[0][0] == 3
    assert column(db, "select object_key from reaper.cleanup_queue") == []


def test_what_objects_are_deleted_for_is_durable_even_in_a_careless_session(db, paste, me):
    owed(me, paste)
    db.execute("set synchronous_commit = off")
    with db.transaction():
        lease(me)
        assert value(db, "show synchronous_commit") == "on"


def test_a_leased_object_is_not_leased_again_until_its_holder_must_be_dead(me, paste, clock):
    keys = owed(me, paste)
    lease(me)
    assert lease(me) == (None, [])
    clock.advance("5 minutes 1 second")
    assert lease(me)[1] == keys


def test_a_lease_that_was_taken_over_settles_nothing(db, paste, me, clock):
    owed(me, paste)
    late, _ = lease(me)
    clock.advance("6 minutes")
    token, _ = lease(me)
    with refused("RP001"):
        me.call("finish_cleanup", late, "[]")
    assert value(db, "select count(*) from reaper.cleanup_queue") == 3
    assert me.call("finish_cleanup", token, "[]")[0][0] == 3


def test_where_nothing_was_tried_nothing_is_forgotten(db, paste, me):
    keys = owed(me, paste)
    token, _ = lease(me)
    assert me.call("finish_cleanup", token, None)[0][0] == 0
    assert lease(me)[1] == keys
    assert value(db, "select max(attempts) from reaper.cleanup_queue") == 0


@pytest.mark.parametrize("report", ['[{"object_key": "mistyped"}]', '{"object_key": "x"}', '"x"'])
def test_a_report_of_what_the_lease_does_not_hold_is_refused_and_settles_nothing(db, paste, me, report):
    owed(me, paste)
    token, _ = lease(me)
    with refused("RP005"):
        me.call("finish_cleanup", token, report)
    assert value(db, "select count(*) from reaper.cleanup_queue") == 3


def test_an_object_that_is_dead_already_does_not_stop_the_others(db, paste, me):
    keys = owed(me, paste)
    db.execute(
        "insert into reaper.cleanup_dlq"
        " (queue_id, backend, object_key, content_hash, attempts, last_error, queued_at, buried_at)"
        " select 99, backend, object_key, content_hash, 1, 'x', now(), now()"
        " from reaper.cleanup_queue where object_key = %s",
        [keys[0]],
    )
    token, _ = lease(me)
    assert me.call("finish_cleanup", token, failed(keys[0], permanent=True, error="AccessDenied"))[0][0] == 2
    assert column(db, "select last_error from reaper.cleanup_dlq") == ["AccessDenied"]


def test_two_workers_never_lease_the_same_object(paste, me, worker):
    owed(me, paste, 10)
    first = {row.object_key for row in me.call("claim_cleanup", 4)}
    second = {row.object_key for row in worker("other").call("claim_cleanup", 100)}
    assert (len(first), len(second), first & second) == (4, 6, set())


def test_a_refusal_waits_three_times_as_long_each_time_and_the_tenth_is_buried_with_its_cause(
    db, paste, me, clock
):
    [key] = owed(me, paste, 1)
    pauses = []
    for _ in range(10):
        token, _ = lease(me)
        me.call("finish_cleanup", token, failed(key, error="InternalError"))
        pause = value(db, "select next_attempt - reaper.clock() from reaper.cleanup_queue")
        pauses.append(pause.total_seconds() if pause else None)
        clock.advance("29 hours")
    assert pauses[-1] is None
    for number, pause in enumerate(pauses[:-1]):
        expected = min(60 * 3**number, 24 * 3600)
        assert 0.79 * expected <= pause <= 1.21 * expected
    dead = record(db, "select * from reaper.cleanup_dlq")
    assert (dead.object_key, dead.attempts, dead.last_error) == (key, 10, "InternalError")


def test_a_refusal_for_good_is_buried_at_once(db, paste, me):
    keys = owed(me, paste)
    token, _ = lease(me)
    me.call("finish_cleanup", token, failed(keys[0], permanent=True, error="AccessDenied"))
    assert column(db, "select object_key from reaper.cleanup_queue") == []
    assert column(db, "select last_error from reaper.cleanup_dlq") == ["AccessDenied"]


def test_a_retired_name_is_free_when_its_object_is_gone_and_not_before(db, paste, me):
    [key] = owed(me, paste, 1, own_key=False)
    with refused("RP004"):
        db.execute("insert into content (content_hash) values (%s)", [key])
    token, _ = lease(me)
    me.call("finish_cleanup", token, "[]")
    db.execute("insert into content (content_hash) values (%s)", [key])


def codes_owed(me, paste, count=3) -> list[str]:
    paste.many("c", count, "same")
    batch = me.claim()
    gone = me.drop(batch)
    codes = me.call("released_codes", batch)[0][0]
    me.finish(batch, [{"short_code": code, "error": "timeout"} for code in codes])
    assert len(gone) == 1
    return sorted(codes)


def test_cache_entries_are_retried_until_redis_confirms_and_never_given_up(db, paste, me, clock):
    codes = codes_owed(me, paste)
    assert me.call("claim_invalidations", 100) == [], "not before a minute has passed"
    for _ in range(15):
        clock.advance("1 hour")
        rows = me.call("claim_invalidations", 100)
        assert sorted(row.short_code for row in rows) == codes
        again = [{"short_code": code, "error": "down"} for code in codes]
        assert me.call("finish_invalidations", rows[0].lease, json.dumps(again))[0][0] == 0
    clock.advance("1 hour")
    rows = me.call("claim_invalidations", 100)
    assert me.call("finish_invalidations", rows[0].lease, "[]")[0][0] == 3
    assert value(db, "select count(*) from reaper.invalidations") == 0


def test_a_code_that_is_owed_again_meanwhile_is_not_settled_by_the_older_try(db, paste, me, clock):
    [code] = codes_owed(me, paste, 1)
    clock.advance("1 hour")
    older = me.call("claim_invalidations", 100)[0].lease
    paste(code)
    batch = me.claim()
    me.drop(batch)
    me.finish(batch, [{"short_code": code, "error": "timeout"}])
    with refused("RP001"):
        me.call("finish_invalidations", older, "[]")
    assert column(db, "select short_code from reaper.invalidations") == [code]


def test_a_code_that_is_owed_again_meanwhile_does_not_stop_the_others_of_its_lease(db, paste, me, clock):
    codes = codes_owed(me, paste)
    clock.advance("1 hour")
    token = me.call("claim_invalidations", 100)[0].lease
    paste(codes[0])
    batch = me.claim()
    me.drop(batch)
    me.finish(batch, [{"short_code": codes[0], "error": "timeout"}])
    away = [{"short_code": code, "error": "down"} for code in codes[:2]]
    assert me.call("finish_invalidations", token, json.dumps(away))[0][0] == 1
    assert sorted(column(db, "select short_code from reaper.invalidations")) == codes[:2]


@pytest.mark.parametrize("function", ["claim_cleanup", "claim_invalidations"])
@pytest.mark.parametrize("limit", [0, None, 10_001])
def test_an_impossible_number_is_refused(me, function, limit):
    with refused("RP005"):
        me.call(function, limit)


def test_a_worker_lets_go_of_batches_that_it_holds_without_knowing(db, paste, me):
    paste.many("p", 4)
    known, claimed, released = me.claim(1), me.claim(1), me.claim(1)
    me.drop(released)
    assert me.call("return_unknown_batches", me.name, [known])[0][0] == 2
    states = dict(db.execute("select batch_id, worker from reaper.batches"))
    assert states == {known: me.name, released: None}
    with refused("RP001"):
        me.drop(claimed)


def test_a_worker_that_ends_in_good_order_leaves_nothing_to_wait_for(db, paste, me):
    paste.many("p", 2)
    me.heartbeat()
    me.drop(me.claim(1))
    me.claim(1)
    assert me.call("retire_worker", me.name)[0][0] == 2
    assert column(db, "select worker from reaper.workers") == []
    assert me.adopt() is not None
    assert value(db, "select reaper.count_due()") == 1


@pytest.mark.parametrize("attempts", [0, 1, 2, 5, 7, 10, 1000])
def test_pauses_stay_between_a_minute_and_a_day_and_differ(db, attempts):
    shortest, longest, different = db.execute(
        "select min(p), max(p), count(distinct p)"
        "  from (select reaper_internal.retry_pause(%s) as p from generate_series(1, 200)) as x",
        [attempts],
    ).fetchone()
    assert timedelta(minutes=1) <= shortest < longest <= timedelta(hours=24)
    assert different > 100
