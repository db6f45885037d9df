"""Who gets how much of a claim: fair over backends, nothing for those that do not answer."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.owed_deletions import failures, lease, open_circuit, queue, register, settle, shares
from tests.support.paste_fixtures import refused, value


def test_a_backend_with_few_due_objects_is_not_behind_one_with_many(db, me):
    queue(db, "big", 1000, due="-1 hour")
    queue(db, "small", 5)
    assert shares(lease(me, 100)[1]) == {"big": 95, "small": 5}


def test_each_gets_its_share_before_any_gets_more(db, me):
    for backend in ("b1", "b2", "b3"):
        queue(db, backend, 50)
    assert Counter(shares(lease(me, 30)[1]).values()) == {10: 3}


def test_a_share_that_does_not_come_out_even_is_not_more_than_was_asked_for(db, me):
    for backend in ("b1", "b2", "b3"):
        queue(db, backend, 50)
    assert len(lease(me, 10)[1]) == 10
    assert len(lease(me, 2)[1]) == 2


def test_with_fewer_places_than_backends_the_longest_overdue_come_first(db, me):
    for number in range(1, 6):
        queue(db, f"b{number}", 3, due=f"-{number} minutes")
    assert shares(lease(me, 2)[1]) == {"b5": 1, "b4": 1}


def test_the_oldest_of_a_backend_come_first(db, me):
    queue(db, "b1", 3, key="young", due="-1 minute")
    old = queue(db, "b1", 3, key="old", due="-1 hour")
    assert [key for _, key in lease(me, 3)[1]] == old


def test_a_backend_that_does_not_answer_is_left_alone_until_it_does(db, me):
    queue(db, "sick", 100)
    queue(db, "well", 10)
    open_circuit(db, "sick")
    assert shares(lease(me, 50)[1]) == {"well": 10}
    assert lease(me) == (None, [])
    db.execute("select reaper.claim_probe('sick')")
    assert lease(me) == (None, []), "half open is for the probe"
    db.execute("select reaper.record_backend_success('sick')")
    assert shares(lease(me)[1]) == {"sick": 100}


def test_one_backend_may_be_asked_for_by_name(db, me):
    queue(db, "b1", 5)
    queue(db, "b2", 5)
    assert shares(lease(me, 100, "b2")[1]) == {"b2": 5}
    open_circuit(db, "b1")
    assert lease(me, 100, "b1") == (None, [])


@pytest.mark.broken_on_purpose
def test_a_backend_that_nobody_knows_is_tried_only_when_it_is_named(db, me):
    queue(db, "gone", 3)
    db.execute("delete from reaper.backend_list where name = 'gone'")
    assert lease(me) == (None, [])
    assert shares(lease(me, 10, "gone")[1]) == {"gone": 3}


def test_a_pass_does_not_meet_its_own_failures_again(db, me):
    queue(db, "b1", 3)
    begun = value(db, "select reaper.clock()")
    token, objects = lease(me, 10, None, begun)
    settle(me, token, None)
    assert lease(me, 10, None, begun) == (None, [])
    assert lease(me, 10)[1] == objects


def test_nobody_claims_what_is_due_in_the_future_because_others_may_hold_it(db, me):
    queue(db, "b1", 3)
    lease(me)
    queue(db, "b1", 3, key="later", due="1 hour")
    assert lease(me, 10, None, value(db, "select reaper.clock() + interval '1 day'")) == (None, [])


def test_claimers_side_by_side_share_the_queue_and_miss_nothing(db, worker):
    for backend in ("b1", "b2", "b3"):
        queue(db, backend, 200)
    taken: list[tuple[str, str]] = []

    def take(claimer) -> None:
        while (claimed := lease(claimer, 17))[1]:
            taken.extend(claimed[1])

    threads = [threading.Thread(target=take, args=(worker(f"w{i}"),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 600


def test_what_another_claimer_is_just_leasing_is_skipped_without_waiting(db, me, worker):
    queue(db, "b1", 10)
    other = worker("other")
    with other.connection.transaction():
        theirs = lease(other, 4)[1]
        mine = lease(me, 100)[1]
    assert (len(theirs), len(mine), set(theirs) & set(mine)) == (4, 6, set())


def test_a_claim_does_not_wait_for_a_settlement_nor_take_part_of_it(db, me, worker, clock):
    queue(db, "b1", 10)
    slow = worker("slow")
    token, _ = lease(slow)
    clock.advance("6 minutes")
    with slow.connection.transaction():
        assert settle(slow, token) == 10
        assert lease(me) == (None, []), "it ran out, but its holder is settling it"
    assert value(db, "select count(*) from reaper.cleanup_queue") == 0


def test_a_settlement_that_waited_for_a_new_claim_is_refused(db, me, worker, clock, waits):
    queue(db, "b1", 3)
    slow = worker("slow")
    token, objects = lease(slow)
    clock.advance("6 minutes")
    errors = []

    def late() -> None:
        try:
            settle(slow, token, failures(objects))
        except Exception as error:  # noqa: BLE001
            errors.append(getattr(error, "sqlstate", error))

    with me.connection.transaction():
        taken, _ = lease(me)
        thread = threading.Thread(target=late)
        thread.start()
        waits(slow.connection)
    thread.join()
    assert errors == ["RP001"]
    assert settle(me, taken) == 3


def test_a_lease_that_ran_out_while_its_settlement_waited_is_lost(db, me, worker, connect, clock, waits):
    """Not a report of keys that it never held: whether it ran out is asked after the wait, not before."""
    queue(db, "b1", 3)
    slow, stranger = worker("slow"), connect()
    token, objects = lease(slow)
    with ThreadPoolExecutor(1) as thread:
        with stranger.transaction():
            stranger.execute("select from reaper.cleanup_queue order by queue_id limit 1 for update")
            late = thread.submit(settle, slow, token, failures(objects))
            waits(slow.connection)
            clock.advance("6 minutes")
            assert len(lease(me)[1]) == 2
        with refused("RP001"):
            late.result()


def test_registering_more_backends_than_there_is_work_for_costs_nobody_a_share(db, me):
    register(db, *(f"idle{i}" for i in range(20)))
    queue(db, "b1", 50)
    assert len(lease(me, 50)[1]) == 50


def test_the_backlog_is_shown_by_backend_and_cause_to_whoever_may_read(db, me):
    queue(db, "b1", 3, size=100)
    token, objects = lease(me)
    settle(
        me,
        token,
        [*failures(objects[:1], "AccessDenied: no"), *failures(objects[1:2], "timed out", outage=True)],
    )
    queue(db, "b2", 2, key="new", size=None)
    open_circuit(db, "b2")
    db.execute("set role reaper_ro")
    shown = db.execute(
        "select backend, cause, objects, bytes, due, most_attempts, most_outages, circuit"
        "  from reaper.cleanup_backlog"
    ).fetchall()
    assert shown == [
        ("b1", "AccessDenied", 1, 100, 0, 1, 0, "closed"),
        ("b1", "other", 1, 100, 0, 0, 1, "closed"),
        ("b2", None, 2, 0, 2, 0, 0, "open"),
    ]
