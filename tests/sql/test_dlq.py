"""The desk of dead letters: count, retry, write off; bounded, audited, shared by several operators."""

import threading

import pytest

from tests.support.owed_deletions import bury, failures, lease, name, orphans, queue, settle
from tests.support.paste_fixtures import column, record, refused, value
from tests.support.query_plans import pages, read_whole, watched

GROUPS = "select backend, cause, objects, bytes, retired_names from reaper.count_dlq({})"


def counted(db, filters="") -> list[tuple]:
    return db.execute(GROUPS.format(filters)).fetchall()


def retry(db, **filters) -> int:
    return call(db, "retry_dlq", filters)


def write_off(db, reason="removed by hand", **filters) -> int:
    return call(db, "write_off_dlq", {"reason": reason, **filters})


def call(db, function, filters) -> int:
    named = ", ".join(f"p_{name} => %s" for name in filters)
    return value(db, f"select reaper.{function}({named})", *filters.values())


def dead(db) -> list[str]:
    return column(db, "select object_key from reaper.dlq order by object_key")


def audit(db) -> list[tuple]:
    return db.execute("select action, subject, reason, detail from reaper.audit order by audit_id").fetchall()


@pytest.fixture
def letters(db, me):
    """Three that b1 denied, two that b1 has locked, four that b2 denied."""
    bury(db, me, "b1", 3, key="denied", error="AccessDenied: not yours")
    bury(db, me, "b1", 2, key="locked", error="ObjectLocked: until 2031", size=100)
    bury(db, me, "b2", 4, key="other", error="AccessDenied: not yours")


@pytest.mark.usefixtures("letters")
def test_they_are_counted_by_backend_and_cause_with_their_bytes(db):
    assert counted(db) == [
        ("b1", "AccessDenied", 3, 30, 0),
        ("b1", "ObjectLocked", 2, 200, 0),
        ("b2", "AccessDenied", 4, 40, 0),
    ]
    assert counted(db, "'b1', 'ObjectLocked'") == [("b1", "ObjectLocked", 2, 200, 0)]
    assert counted(db, "p_cause => 'AccessDenied'") == [
        ("b1", "AccessDenied", 3, 30, 0),
        ("b2", "AccessDenied", 4, 40, 0),
    ]
    assert counted(db, "'b3'") == []


@pytest.mark.usefixtures("letters")
def test_the_view_names_the_cause(db):
    key = name(db, "locked000001")
    row = record(db, f"select * from reaper.dlq where object_key = '{key}'")
    assert (row.cause, row.last_error) == ("ObjectLocked", "ObjectLocked: until 2031")
    assert (row.name_retired, row.content_hash) == (False, "hash 1")


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize(
    ("filters", "moved"),
    [
        ({}, 9),
        ({"backend": "b1"}, 5),
        ({"cause": "AccessDenied"}, 7),
        ({"backend": "b1", "cause": "AccessDenied"}, 3),
        ({"backend": "b3"}, 0),
        ({"ids": []}, 0),
    ],
)
def test_what_is_retried_is_due_at_once_with_all_its_attempts_before_it(db, filters, moved):
    before = orphans(db)
    assert retry(db, **filters) == moved
    assert (len(dead(db)), orphans(db)) == (9 - moved, before)
    due = "select count(*) from reaper.cleanup_queue where attempts = 0 and next_attempt <= reaper.clock()"
    assert value(db, due) == moved


@pytest.mark.usefixtures("letters")
def test_one_is_retried_by_its_number_and_keeps_it(db, me):
    number = value(db, "select queue_id from reaper.dlq where object_key = 'locked000002'")
    assert retry(db, ids=[number, 999_999]) == 1
    assert column(db, "select queue_id from reaper.cleanup_queue") == [number]
    token, objects = lease(me)
    assert objects == [("b1", "locked000002")]
    assert settle(me, token) == 1


def test_a_healed_policy_and_a_retry_leave_nothing(db, me):
    keys = queue(db, "b1", 1000)
    token, objects = lease(me)
    settle(me, token, failures([o for o in objects if o[1] in keys[::10]], "AccessDenied", permanent=True))
    assert counted(db) == [("b1", "AccessDenied", 100, 1000, 0)]
    assert retry(db, cause="AccessDenied", reason="policy healed") == 100
    assert settle(me, lease(me)[0]) == 100
    assert (counted(db), orphans(db)) == ([], 0)


def test_a_key_that_is_to_be_deleted_twice_is_so_after_a_retry_too(db, me):
    bury(db, me, "b1", passes=2)
    retry(db)
    assert value(db, "select passes_left from reaper.cleanup_queue") == 2


@pytest.mark.usefixtures("letters")
def test_what_is_given_up_again_meanwhile_is_not_retried_for_ever(db, me, clock):
    looked_at = value(db, "select reaper.clock()")
    assert retry(db, buried_before=looked_at) == 9
    clock.advance("1 second")
    token, objects = lease(me)
    settle(me, token, failures(objects, "AccessDenied", permanent=True))
    assert retry(db, buried_before=looked_at) == 0
    assert len(dead(db)) == 9


@pytest.mark.usefixtures("letters")
def test_a_call_does_a_bounded_number_and_says_how_many(db):
    assert [retry(db, limit=4) for _ in range(4)] == [4, 4, 1, 0]


@pytest.mark.parametrize("limit", [0, None, 10_001])
@pytest.mark.parametrize("function", [retry, write_off])
def test_an_impossible_number_is_refused(db, function, limit):
    with refused("RP005"):
        function(db, limit=limit)


@pytest.mark.usefixtures("letters")
def test_a_write_off_takes_the_bytes_off_the_account_and_deletes_nothing_else(db):
    assert write_off(db, backend="b1", cause="ObjectLocked") == 2
    assert (orphans(db, "b1"), orphans(db, "b2"), len(dead(db))) == (30, 40, 7)
    assert value(db, "select count(*) from reaper.cleanup_queue") == 0


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_write_off_needs_a_reason(db, reason):
    with refused("RP005", "reason"):
        write_off(db, reason)
    assert len(dead(db)) == 9


@pytest.mark.usefixtures("letters")
def test_the_audit_says_who_retried_what_and_why(db):
    retry(db, backend="b1", cause="AccessDenied", reason="policy healed")
    retry(db, backend="b1", cause="AccessDenied", reason="once more")
    assert audit(db) == [("retry_dlq", "backend b1, cause AccessDenied", "policy healed", "3 objects")]
    assert value(db, "select who = session_user from reaper.audit")


@pytest.mark.usefixtures("letters")
def test_the_audit_keeps_the_name_of_every_object_that_was_written_off(db):
    number = value(db, "select queue_id from reaper.dlq where object_key = 'locked000001'")
    write_off(db, "locked by law", ids=[number])
    detail = f"number {number}, 100 bytes, ObjectLocked: until 2031"
    assert audit(db) == [("write_off_dlq", "b1/locked000001", "locked by law", detail)]


@pytest.fixture
def retired(db, me):
    """One whose name would be used again, beside one whose name would not."""
    bury(db, me, "default", key="bare")
    bury(db, me, "default", key="random")
    db.execute("insert into reaper.retired_keys values ('bare000001', reaper.clock())")


@pytest.mark.usefixtures("retired")
def test_an_object_with_a_retired_name_is_written_off_only_on_demand(db):
    assert counted(db) == [("default", "AccessDenied", 2, 20, 1)]
    assert write_off(db) == 1
    assert dead(db) == ["bare000001"]
    with refused("RP004"):
        db.execute("insert into content (content_hash) values ('bare000001')")
    assert write_off(db, free_names=True) == 1
    db.execute("insert into content (content_hash) values ('bare000001')")
    assert orphans(db) == 0


@pytest.mark.usefixtures("retired")
def test_a_retry_keeps_the_name_until_the_object_is_gone(db, me):
    assert retry(db) == 2
    assert column(db, "select object_key from reaper.retired_keys") == ["bare000001"]
    settle(me, lease(me)[0])
    assert column(db, "select object_key from reaper.retired_keys") == []


@pytest.mark.parametrize("function", [retry, write_off])
def test_operators_at_the_same_desk_share_the_work_and_do_nothing_twice(db, me, connect, function):
    bury(db, me, "b1", 300)
    desks = [connect() for _ in range(3)]
    done: list[int] = []

    def work(desk) -> None:
        while moved := function(desk, limit=7):
            done.append(moved)

    threads = [threading.Thread(target=work, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(done), dead(db)) == (300, [])
    assert orphans(db) == (3000 if function is retry else 0)


def test_what_another_operator_is_deciding_about_is_left_to_them(db, me, connect):
    bury(db, me, "b1", 5)
    db.execute("set lock_timeout = '5s'")
    other = connect()
    with other.transaction(force_rollback=True):
        assert write_off(other, limit=2) == 2
        assert retry(db) == 3
    assert retry(db) == 2, "they thought better of it"


@pytest.mark.broken_on_purpose
def test_a_letter_whose_object_is_owed_already_stops_no_others(db, me):
    bury(db, me, "b1", 3, key="same")
    queue(db, "b1", 1, key="same")
    assert retry(db) == 2
    assert dead(db) == ["same000001"]
    assert orphans(db) == 40


def test_an_operator_may_decide_a_worker_and_a_reader_may_look(db):
    for role, allowed in {"reaper_ops": True, "reaper_worker": False, "reaper_ro": False}.items():
        db.execute(f"set role {role}")
        counted(db)
        for function in (retry, write_off):
            if allowed:
                assert function(db) == 0
            else:
                with refused("42501"):
                    function(db)
        db.execute("reset role")


def test_a_batch_of_one_group_reads_no_other(db, me):
    bury(db, me, "b1", 10_000, key="many")
    bury(db, me, "b2", 100, key="few", error="ObjectLocked: x")
    db.execute("analyze reaper.cleanup_dlq")
    plans = watched(db)
    assert retry(db, backend="b2", cause="ObjectLocked", limit=10) == 10
    assert read_whole(plans, ["cleanup_dlq"]) == {}
    db.execute("set auto_explain.log_min_duration = -1")
    query = "select reaper.retry_dlq('b2', 'ObjectLocked', p_limit => 10)"
    assert pages(db, query) < 500
