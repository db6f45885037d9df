"""What becomes of a lease: gone, tried again or given up; what counts; and the bytes are always right."""

from datetime import timedelta

import pytest

from tests.support.owed_deletions import bury, failures, lease, open_circuit, orphans, queue, settle
from tests.support.paste_fixtures import column, record, refusals, refused, value

OUTAGE = "ConnectTimeout: no answer"


@pytest.fixture(autouse=True)
def stopped(clock):
    clock.stop()


def queued(db):
    return record(db, "select *, next_attempt - reaper.clock() as pause from reaper.cleanup_queue")


def dead(db) -> dict[str, int]:
    """How many dead letters of each cause."""
    return dict(db.execute("select cause, count(*) from reaper.cleanup_dlq group by cause").fetchall())


def jittered(pause: timedelta, seconds: float) -> bool:
    return 0.79 * seconds <= pause.total_seconds() <= 1.21 * seconds


def test_an_outage_costs_no_attempt_and_is_tried_again_in_a_minute(db, me):
    queue(db, "b1")
    token, objects = lease(me)
    assert settle(me, token, failures(objects, OUTAGE, outage=True)) == 0
    row = queued(db)
    assert (row.attempts, row.outages, row.last_error, row.lease) == (0, 1, OUTAGE, None)
    assert jittered(row.pause, 60)


def test_behind_an_open_circuit_it_is_due_at_once_and_left_alone_until_that_closes(db, me):
    queue(db, "b1")
    token, objects = lease(me)
    open_circuit(db, "b1")
    settle(me, token, failures(objects, "circuit is open", outage=True))
    assert queued(db).pause == timedelta(0)
    assert lease(me) == (None, [])
    db.execute("select reaper.record_backend_success('b1')")
    assert lease(me)[1] == objects


def test_outages_never_bury_anything_not_even_at_the_last_attempt(db, me, clock):
    queue(db, "b1")
    db.execute("update reaper.cleanup_queue set attempts = 9")
    for _ in range(30):
        token, objects = lease(me)
        settle(me, token, failures(objects, OUTAGE, outage=True, permanent=True))
        clock.advance("2 minutes")
    row = queued(db)
    assert (row.attempts, row.outages) == (9, 30)
    token, objects = lease(me)
    settle(me, token, failures(objects, "InternalError: we did wrong"))
    assert dead(db) == {"InternalError": 1}


def test_an_outage_between_refusals_does_not_shorten_their_pauses(db, me, clock):
    queue(db, "b1")
    for _ in range(3):
        token, objects = lease(me)
        settle(me, token, failures(objects))
        clock.advance("1 hour")
    token, objects = lease(me)
    settle(me, token, failures(objects, OUTAGE, outage=True))
    clock.advance("2 minutes")
    token, objects = lease(me)
    settle(me, token, failures(objects))
    row = queued(db)
    assert row.attempts == 4
    assert jittered(row.pause, 27 * 60)


def test_seventy_two_hours_of_outage_bury_nothing_and_all_is_gone_in_the_first_pass_after_it(db, me, clock):
    queue(db, "sick", 500)
    healthy = 0
    for hour in range(72):
        healthy += len(queue(db, "well", 5, key=f"hour {hour} "))
        for _ in range(4):
            # Nobody knows yet, or the probe was answered by chance: one more try of all.
            if hour % 12 == 0:
                db.execute("select reaper.record_backend_success('sick')")
            while (claimed := lease(me, 100))[1]:
                away = [each for each in claimed[1] if each[0] == "sick"]
                if away:
                    open_circuit(db, "sick")
                settle(me, claimed[0], failures(away, OUTAGE, outage=True))
            clock.advance("15 minutes")
        assert value(db, "select count(*) from reaper.cleanup_queue where backend = 'well'") == 0
        assert orphans(db) == orphans(db, "sick") == 5000
    assert dead(db) == {}
    assert value(db, "select max(attempts) from reaper.cleanup_queue") == 0

    db.execute("select reaper.record_backend_success('sick')")
    gone = 0
    begun = value(db, "select reaper.clock()")
    while (claimed := lease(me, 100, None, begun))[1]:
        gone += settle(me, claimed[0])
    assert (gone, orphans(db)) == (500, 0)


def test_of_a_thousand_keys_a_hundred_denied_ones_are_dead_after_one_pass_and_the_rest_is_gone(db, me):
    keys = queue(db, "b1", 1000)
    denied = set(keys[::10])
    token, objects = lease(me)
    refused_ones = [each for each in objects if each[1] in denied]
    assert settle(me, token, failures(refused_ones, "AccessDenied: not yours", permanent=True)) == 900
    assert dead(db) == {"AccessDenied": 100}
    assert set(column(db, "select object_key from reaper.cleanup_dlq")) == denied
    assert value(db, "select count(*) from reaper.cleanup_queue") == 0
    assert orphans(db, "b1") == 1000


def test_what_is_given_up_keeps_its_number_its_cause_and_what_is_known_of_it(db, me):
    queue(db, "b1", size=77, passes=2)
    before = queued(db)
    token, objects = lease(me)
    settle(me, token, failures(objects, "ObjectLocked: until 2031", permanent=True))
    row = record(db, "select * from reaper.cleanup_dlq")
    assert (row.queue_id, row.content_hash, row.queued_at) == (
        before.queue_id,
        before.content_hash,
        before.queued_at,
    )
    assert (row.cause, row.last_error, row.attempts) == ("ObjectLocked", "ObjectLocked: until 2031", 1)
    assert (row.size_bytes, row.passes_left) == (77, 2)


def test_the_bytes_leave_the_account_with_the_object_and_not_before(db, me):
    queue(db, "b1", 3, size=100)
    queue(db, "b2", 2, size=1000)
    queue(db, "b3", 1, size=None)
    assert orphans(db) == 2300
    token, objects = lease(me)
    assert orphans(db) == 2300, "leased is not gone"
    stays = [each for each in objects if each[0] == "b1"][:2]
    settle(me, token, [*failures(stays[:1], permanent=True), *failures(stays[1:])])
    assert (orphans(db, "b1"), orphans(db, "b2"), orphans(db)) == (200, 0, 200)


def test_an_account_and_its_queue_change_in_one_transaction(db, worker):
    queue(db, "b1", 3)
    other = worker("other")
    token, _ = lease(other)
    with other.connection.transaction(force_rollback=True):
        settle(other, token)
        assert orphans(db) == 30, "nobody else sees half of it"
        assert orphans(other.connection) == 0
    assert orphans(db) == 30


def test_a_key_whose_upload_may_still_land_is_deleted_twice_and_owed_until_then(db, me, clock):
    queue(db, "b1", passes=2)
    token, objects = lease(me)
    assert settle(me, token) == 0
    row = queued(db)
    assert (row.passes_left, row.pause, row.lease) == (1, timedelta(minutes=15), None)
    assert orphans(db) == 10
    clock.advance("14 minutes")
    assert lease(me) == (None, [])
    clock.advance("2 minutes")
    token, again = lease(me)
    assert again == objects
    assert settle(me, token) == 1
    assert orphans(db) == 0


def test_a_failure_does_not_count_as_one_of_the_two_deletions(db, me):
    queue(db, "b1", passes=2)
    token, objects = lease(me)
    settle(me, token, failures(objects))
    assert queued(db).passes_left == 2


def test_an_object_is_owed_once(db):
    queue(db, "b1", key="same")
    with refused("23505"):
        queue(db, "b1", key="same")
    queue(db, "b2", key="same")


def test_a_zombie_settles_nothing_whatever_it_reports(db, me, worker, clock):
    queue(db, "b1", 3)
    zombie = worker("zombie")
    token, objects = lease(zombie)
    clock.advance("6 minutes")
    mine, _ = lease(me)
    before = db.execute("select * from reaper.cleanup_queue order by queue_id").fetchall()
    for report in ((), failures(objects), failures(objects, permanent=True), None):
        with refused("RP001"):
            settle(zombie, token, report)
    assert db.execute("select * from reaper.cleanup_queue order by queue_id").fetchall() == before
    assert (orphans(db), refusals(db), dead(db)) == (30, 4, {})
    assert settle(me, mine) == 3


def test_a_lease_that_ran_out_and_lost_a_part_settles_nothing(db, me, worker, clock):
    queue(db, "b1", 5)
    zombie = worker("zombie")
    token, objects = lease(zombie)
    clock.advance("6 minutes")
    mine, taken = lease(me, 2)
    assert settle(me, mine) == 2
    with refused("RP001"):
        settle(zombie, token, failures(objects))
    assert value(db, "select max(attempts) from reaper.cleanup_queue") == 0
    assert lease(me)[1] == sorted(set(objects) - set(taken))


@pytest.mark.parametrize("verdict", [{"permanent": True}, {"permanent": False}, {"outage": True}])
def test_a_retired_name_is_not_free_while_one_of_its_copies_is_owed(db, me, verdict):
    for backend in ("b1", "b2"):
        queue(db, backend, key="bare")
    db.execute("insert into reaper.retired_keys values ('bare000001', reaper.clock())")
    token, objects = lease(me)
    assert settle(me, token, failures(objects[1:], **verdict)) == 1
    assert column(db, "select object_key from reaper.retired_keys") == ["bare000001"]


def test_a_retired_name_is_not_free_while_one_of_its_copies_is_a_dead_letter(db, me):
    bury(db, me, "b1", key="bare")
    queue(db, "b2", key="bare")
    db.execute("insert into reaper.retired_keys values ('bare000001', reaper.clock())")
    assert settle(me, lease(me)[0]) == 1
    assert column(db, "select object_key from reaper.retired_keys") == ["bare000001"]


def test_a_retired_name_is_free_with_the_last_of_its_copies(db, me):
    for backend in ("b1", "b2"):
        queue(db, backend, key="bare")
    db.execute("insert into reaper.retired_keys values ('bare000001', reaper.clock())")
    settle(me, lease(me)[0])
    assert column(db, "select object_key from reaper.retired_keys") == []
