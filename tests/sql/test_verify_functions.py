"""The functions behind `reaper verify`, `status` and `plan`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.support.paste_fixtures import (
    Clock,
    Copies,
    Pastes,
    Worker,
    accounts,
    column,
    record,
    refs,
    refused,
    unbound,
    value,
)
from tests.support.query_plans import flat, pages, scans, watched

Connection = psycopg.Connection[Any]


def health(db: Connection) -> Any:
    return record(db, "select * from reaper.health")


def walk(db: Connection, limit: int, backend: str = "default") -> list[str]:
    """The keys of all pages, one after the other."""
    keys: list[str] = []
    query = "select object_key from reaper.expected_objects(%s, %s, %s)"
    while page := column(db, query, keys[-1] if keys else "", limit, backend):
        keys += page
        assert len(page) <= limit
    return keys


def test_an_empty_system_is_ok_and_has_no_reasons(db: Connection) -> None:
    assert (health(db).verdict, health(db).reasons) == ("ok", [])


def test_a_due_row_is_no_trouble_for_26_hours_and_then_the_system_is_behind(
    db: Connection, paste: Pastes, me: Worker
) -> None:
    paste("a", expires="-25 hours")
    paste("claimed", expires="-30 hours")
    me.heartbeat()
    me.claim(1)
    assert health(db).verdict == "ok"
    paste("b", expires="-27 hours")
    assert health(db).verdict == "behind"
    [reason] = health(db).reasons
    assert "it was never planned, and the oldest row that waits expired 1 d 3 h ago" in reason


def test_a_blocked_row_does_not_make_the_system_late(db: Connection, paste: Pastes) -> None:
    paste("a", expires="-3 days")
    db.execute("insert into reaper.blocked values ('a', '23503', 'no', 1, now(), now() + interval '1 hour')")
    assert health(db).verdict == "attention"
    db.execute("delete from reaper.blocked")
    assert health(db).verdict == "stalled"


def test_late_rows_that_nobody_works_on_mean_that_the_system_has_stalled(
    db: Connection, paste: Pastes, me: Worker, clock: Clock
) -> None:
    paste("a", expires="-3 days")
    me.drain()
    paste("b", expires="-3 days")
    assert health(db).verdict == "behind"
    clock.advance("11 minutes")
    assert health(db).verdict == "stalled"
    assert "no worker is alive, and no batch finished for 11 min" in health(db).reasons[0]


def test_a_batch_that_nobody_holds_stalls_the_system_after_ten_minutes(
    db: Connection, paste: Pastes, clock: Clock
) -> None:
    paste("a")
    db.execute("call reaper.drain()")
    assert health(db).verdict == "ok"
    clock.advance("11 minutes")
    assert health(db).verdict == "stalled"
    assert "1 batch is stuck, the oldest for 11 min" in health(db).reasons[0]


def test_speed_counts_the_time_in_which_a_batch_was_in_work_and_no_other(db: Connection) -> None:
    assert record(db, "select * from reaper.recent_speed()").rows_per_second is None
    db.execute(
        "insert into reaper.runs (batch_id, rows_claimed, rows_deleted, rows_returned, rows_blocked,"
        " objects_deleted, objects_failed, bytes_freed, invalidations_failed,"
        " claimed_at, released_at, finished_at)"
        " select gen_random_uuid(), 100, 100, 0, 0, 1, 0, 5, 0, d + b, d + b, d + e"
        "  from (values (now() - interval '1 day', interval '0 s', interval '8 s'),"
        "               (now() - interval '1 day', interval '4 s', interval '10 s'),"
        "               (now() - interval '1 day', interval '0 s', interval '5 hours'),"
        "               (now(), interval '0 s', interval '10 s')) as t (d, b, e)"
    )
    speed = record(db, "select * from reaper.recent_speed()")
    assert (speed.batches, speed.rows_deleted, speed.seconds, speed.rows_per_second) == (3, 300, 20, 15)


def test_speed_does_not_count_the_time_in_which_a_batch_waited_for_an_heir(
    db: Connection, paste: Pastes, me: Worker, clock: Clock
) -> None:
    clock.stop()
    paste.many("p", 100)
    batch = me.claim(100)
    clock.advance("2 seconds")
    me.drop(batch)
    db.execute("select reaper.disown_batch(%s)", [batch])
    clock.advance("5 minutes")
    heir = me.adopt()[0]
    clock.advance("3 seconds")
    me.finish(heir)
    speed = record(db, "select * from reaper.recent_speed()")
    assert (speed.batches, speed.seconds, speed.rows_per_second) == (1, 5, 20)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_expected_objects_come_in_byte_order_page_by_page_whatever_their_keys(
    db: Connection, limit: int
) -> None:
    db.execute(
        "insert into content (content_hash, object_key, ref_count) values"
        " ('b', null, 0), ('B', null, 0), ('é', null, 0), ('a', 'zz/1', 0), ('c', 'B/x', 0),"
        " ('d', 'b/x', 0), ('e', '_', 0), ('f', null, 0), ('~', 'a', 0)"
    )
    keys = walk(db, limit)
    assert keys == sorted(["b", "B", "é", "zz/1", "B/x", "b/x", "_", "f", "a"], key=str.encode)


def test_expected_objects_are_complete_on_adopted_columns_with_another_collation(db: Connection) -> None:
    with unbound(db):
        db.execute(
            'alter table pastes alter content_hash type text collate "default";'
            ' alter table content alter content_hash type text collate "default",'
            ' alter object_key type varchar collate "default"'
        )
    db.execute(
        "insert into content (content_hash, object_key, ref_count) values ('b', null, 0), ('A', 'a', 0)"
    )
    assert walk(db, 1) == ["a", "b"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_expected_objects_are_those_of_the_backend_and_only_the_default_one_has_content_without_copies(
    db: Connection, paste: Pastes, copy: Copies, limit: int
) -> None:
    for content in "abcdef":
        paste(content, content=content, expires="1 day")
    for content in "uvw":
        paste(content, content=content, expires="1 day", own_key=False)
    copy("a", "east")
    copy("b", "east", "default")
    copy("c", "default")
    copy("c", "west", key="_")
    copy("u", "west")
    copy("v", "west", "default")
    assert walk(db, limit, "east") == ["key of a", "key of b"]
    assert walk(db, limit, "west") == ["_", "u", "v"]
    assert walk(db, limit) == [*(f"key of {content}" for content in "bcdef"), "v", "w"]
    assert walk(db, limit, "unknown") == []


MANY = """
with made as (
    insert into content (content_hash, object_key, ref_count)
    select md5(i::text), case when i %% 2 = 0 then left(md5(i::text), 2) || '/' || md5(i::text) end, 0
      from generate_series(1, 20000) as i
    returning content_hash, coalesce(object_key, content_hash) as object_key
)
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
select content_hash, %s, object_key, 0, now() from made where content_hash < %s
"""


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("share", ["0", "8", "g"], ids=["none", "half", "all"])
@pytest.mark.parametrize("backend", ["default", "east"])
def test_no_page_of_expected_objects_scans_a_table_or_starts_from_the_beginning(
    db: Connection, backend: str, share: str
) -> None:
    db.execute(MANY, [backend, share])
    db.execute("analyze")
    elsewhere = value(db, "select count(*) from reaper.object_locations where backend <> 'default'")
    plans = watched(db)
    keys = walk(db, 1000)
    assert len(keys) == 20000 - elsewhere
    read = {how for plan in plans for how, _ in scans(plan["Plan"])} - {"Function Scan"}
    assert read <= {"Index Scan", "Index Only Scan"}
    after = "select count(*) from reaper.expected_objects(%s, 1000)"
    assert flat(pages(db, after, keys[0] if keys else ""), pages(db, after, keys[-1001] if keys else ""))


def test_a_key_is_known_in_content_in_uploads_and_in_every_place_that_owes_its_deletion(
    db: Connection, paste: Pastes, copy: Copies, me: Worker
) -> None:
    paste("live", content="live", expires="+1 day")
    paste("bare", content="bare", expires="+1 day", own_key=False)
    for code in ("queued", "dead", "released"):
        paste(code, content=code)
    batch = me.claim(2)
    me.drop(batch)
    failed = [
        {"backend": "default", "object_key": "key of dead", "error": "denied", "permanent": True},
        {"backend": "default", "object_key": "key of queued", "error": "slow"},
    ]
    me.finish(batch, failed)
    me.drop(me.claim())
    copy("live", "east")
    paste("local", content="local", expires="+1 day")
    [intent] = me.call("begin_put", "new", "c" * 64, 5)
    keys = ["key of live", "key of local", "bare", "live", "key of queued", "key of dead", "key of released"]
    keys += ["stranger", intent.object_key]
    known = dict(
        db.execute("select object_key, place from reaper.known_objects('default', %s)", [keys]).fetchall()
    )
    assert known == {
        "key of local": "content",
        "bare": "content",
        intent.object_key: "intent",
        "key of queued": "cleanup_queue",
        "key of dead": "cleanup_dlq",
        "key of released": "batch",
    }
    assert column(db, "select object_key from reaper.known_objects('east', %s)", keys) == ["key of live"]
    assert column(db, "select object_key from reaper.known_objects('elsewhere', %s)", keys) == []


def test_a_plan_counts_every_copy_that_would_go(
    db: Connection, paste: Pastes, copy: Copies, me: Worker
) -> None:
    paste("a", content="twice")
    copy("twice", "east", "west")
    paste("b", content="theirs", size=7)
    paste("c", content="kept")
    paste("d", content="kept", expires="1 day")
    copy("kept", "east", "west")
    plan = record(db, "select * from reaper.plan_drain()")
    assert (plan.rows_due, plan.objects_freed, plan.bytes_freed, plan.objects_kept) == (3, 3, 27, 1)
    batch = me.claim()
    assert len(me.drop(batch)) == 3
    assert me.finish(batch).bytes_freed == 27


def test_live_pastes_are_those_that_can_be_read(db: Connection, paste: Pastes) -> None:
    paste("never", expires=None)
    paste("later", expires="+1 day")
    paste("gone", expires="-1 day")
    row = record(db, "select * from reaper.live_pastes('{same}', 1)")
    assert (row.pastes, row.examples) == (2, ["later"])


def test_a_cache_entry_is_judged_by_what_becomes_of_its_paste(
    db: Connection, paste: Pastes, me: Worker
) -> None:
    paste("released", content="r")
    me.drop(me.claim())
    db.execute("insert into reaper.invalidations values ('queued', 1, 'away', now(), now())")
    paste("live", expires=None)
    paste("waiting")
    paste("overdue", expires="-2 days")
    codes = ["live", "waiting", "overdue", "released", "queued", "never was"]
    judged = dict(db.execute("select * from reaper.check_cached(%s)", [codes]).fetchall())
    assert judged == {
        "live": "live",
        "waiting": "waiting",
        "overdue": "overdue",
        "released": "queued",
        "queued": "queued",
        "never was": "unknown",
    }


def test_repair_raises_and_lowers_counts_writes_both_down_and_deletes_nothing(
    db: Connection, paste: Pastes
) -> None:
    paste.many("low", 3, content="low", expires=None)
    paste.many("high", 2, content="high", expires=None)
    paste("right", content="right", expires=None)
    db.execute("insert into content (content_hash, ref_count) values ('unnamed', 7)")
    db.execute("update content set ref_count = 1 where content_hash = 'low'")
    db.execute("update content set ref_count = 9 where content_hash = 'high'")
    repaired = db.execute("select * from reaper.repair_counts()").fetchall()
    assert repaired == [("high", 9, 2), ("low", 1, 3), ("unnamed", 7, 0)]
    assert (refs(db, "low"), refs(db, "high"), refs(db, "right"), refs(db, "unnamed")) == (3, 2, 1, 0)
    assert db.execute(
        "select content_hash, expected, found, action from reaper.drift order by 1"
    ).fetchall() == [
        ("high", 9, 2, "lowered"),
        ("low", 1, 3, "raised"),
        ("unnamed", 7, 0, "lowered"),
    ]
    assert db.execute("select * from reaper.repair_counts()").fetchall() == []


def test_repair_goes_page_by_page(db: Connection, paste: Pastes) -> None:
    paste.many("p", 5, expires=None, ref=False)
    assert len(column(db, "select content_hash from reaper.repair_counts(3)")) == 3
    assert len(column(db, "select content_hash from reaper.repair_counts(3)")) == 2


def test_repair_waits_for_a_paste_that_is_being_inserted_and_counts_it(
    db: Connection, paste: Pastes, connect: Callable[..., Connection]
) -> None:
    paste("a", expires=None)
    db.execute("update content set ref_count = 5")
    writer = connect(autocommit=False)
    writer.execute("insert into pastes (short_code, content_hash) values ('b', 'same')")
    with refused("55P03"):
        db.execute("select * from reaper.repair_counts()")
    writer.execute("update content set ref_count = ref_count + 1")
    writer.commit()
    assert db.execute("select * from reaper.repair_counts()").fetchall() == [("same", 6, 2)]


def test_repair_refuses_another_isolation_level(db: Connection) -> None:
    db.execute("begin isolation level repeatable read")
    with refused("RP006"):
        db.execute("select * from reaper.repair_counts()")
    db.execute("rollback")


def test_accounts_are_set_to_what_the_rows_say_and_that_is_audited(
    db: Connection, paste: Pastes, copy: Copies
) -> None:
    paste("a", expires="1 day")
    copy("same", "east")
    wrong = "('east', 5, -3), ('west', 1, 0)"
    db.execute(f"insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes) values {wrong}")
    repaired = db.execute("select * from reaper.repair_accounts()").fetchall()
    assert repaired == [("east", "orphan", -3, 0), ("east", "used", 15, 10), ("west", "used", 1, 0)]
    assert accounts(db) == {"east": (10, 0, 0)}
    assert column(db, "select detail from reaper.audit where subject = 'east' order by 1") == [
        "orphan bytes from -3 to 0",
        "used bytes from 15 to 10",
    ]
    assert db.execute("select * from reaper.repair_accounts()").fetchall() == []


def test_of_two_that_repair_accounts_at_once_the_second_finds_nothing_left(
    db: Connection, worker: Callable[[str], Worker], waits: Callable[..., None]
) -> None:
    db.execute("insert into reaper.byte_deltas (backend, used_bytes) values ('default', 5)")
    first, second = worker("first"), worker("second")
    with ThreadPoolExecutor(1) as pool, first.connection.transaction():
        assert len(first.call("repair_accounts")) == 1
        late = pool.submit(second.call, "repair_accounts")
        waits(second.connection)
    assert late.result() == []
    assert accounts(db) == {}


def test_accounts_are_repaired_while_a_drain_is_under_way(
    db: Connection, paste: Pastes, copy: Copies, worker: Callable[[str], Worker]
) -> None:
    paste("a")
    copy("same", "east")
    db.execute("insert into reaper.byte_deltas (backend, used_bytes) values ('east', 5)")
    drainer = worker("drainer")
    batch = drainer.claim()
    with drainer.connection.transaction():
        drainer.drop(batch)
        assert db.execute("select * from reaper.repair_accounts()").fetchall() == [("east", "used", 15, 10)]
    assert accounts(db) == {"east": (0, 10, 0)}
