"""What the operator's page asks: bounded looks at queues and history, and SQL that mends a blocked row."""

from collections.abc import Callable
from typing import Any

from tests.support.paste_fixtures import Connection, Pastes, value

QUEUE = """
insert into reaper.cleanup_queue (backend, object_key, size_bytes, last_error, queued_at, next_attempt)
select 'b' || i % 3, 'key' || i, 10, case when i % 2 = 0 then 'SlowDown: later' end,
       reaper.clock() - i * interval '1 minute', reaper.clock() - interval '1 minute'
  from generate_series(1, 3000) as i
"""
DLQ = """
insert into reaper.cleanup_dlq (
    queue_id, backend, object_key, size_bytes, attempts, cause, last_error, queued_at, buried_at)
select 100000 + i, 'b' || i % 2, 'dead' || i, 10, 10,
       (array['AccessDenied', 'ObjectLocked', 'other'])[i % 3 + 1], 'AccessDenied: no',
       reaper.clock(), reaper.clock()
  from generate_series(1, 600) as i
"""
BLOCKED = """
insert into reaper.blocked (short_code, sqlstate, message, blocked_at, next_attempt)
select 'p' || i, '23503',
       'update or delete on table "pastes" violates foreign key constraint "notes_of" on table "remarks"',
       reaper.clock(), reaper.clock() + interval '1 hour'
  from generate_series(1, 30) as i
"""


def rows(db: Connection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return db.execute(query, values or None).fetchall()


def test_queues_are_told_by_backend_and_cause_and_what_was_not_looked_at_is_said(db: Connection):
    assert rows(db, "select * from reaper.waiting_deletions()") == []
    assert rows(db, "select * from reaper.dlq_causes()") == []
    db.execute(QUEUE)
    db.execute(DLQ)
    told = rows(
        db,
        "select backend, cause, sum(objects), bool_and(complete)"
        " from reaper.waiting_deletions() group by 1, 2",
    )
    assert set(told) == {(f"b{n}", cause, 500, True) for n in range(3) for cause in (None, "SlowDown")}
    ages = {row[0] for row in rows(db, "select age from reaper.waiting_deletions()")}
    assert ages == {"under 1 h", "1 h to 1 d", "1 d to 7 d"}
    bounded = rows(
        db, "select backend, sum(objects), bool_or(complete) from reaper.waiting_deletions(99) group by 1"
    )
    assert set(bounded) == {(f"b{n}", 100, False) for n in range(3)}
    causes = rows(db, "select backend, cause, objects, bytes from reaper.dlq_causes(60)")
    assert causes == [
        (f"b{n}", cause, 60, 600) for n in range(2) for cause in ("AccessDenied", "ObjectLocked", "other")
    ]
    assert value(db, "select sum(objects) from reaper.dlq_causes()") == 600


def test_a_blocked_row_comes_with_the_sql_that_mends_it(
    db: Connection, paste: Pastes, drain: Callable[..., Any]
):
    db.execute(
        "create table public.remarks (id int primary key, code text constraint notes_of references pastes)"
    )
    paste.many("p", 3)
    db.execute("insert into remarks select 1, 'p00001' union all select 2, 'p00002'")
    drain()
    [(state, message, number, complete, examples, mending)] = rows(
        db, "select sqlstate, message, rows, complete, examples, mending from reaper.blocked_causes()"
    )
    assert (state, number, complete, examples) == ("23503", 2, True, ["p00001", "p00002"])
    assert "notes_of" in message
    first, _, second = mending.partition("-- or let them be")
    assert "delete from public.remarks r using reaper.blocked_rows b where r.code = b.short_code" in first
    with db.transaction(force_rollback=True):
        db.execute("--" + second)
        drain_again(db)
        assert value(db, "select count(*) from remarks") == 0
    db.execute(first)
    assert value(db, "select detail from reaper.audit where action = 'unblock'") == "2 rows"
    drain()
    assert value(db, "select count(*) from pastes") == 0


def drain_again(db: Connection) -> None:
    """One batch, in the caller's transaction."""
    batch = value(db, "select batch_id from reaper.claim_expired()")
    db.execute("select reaper.drop_references(%s)", [batch])


def test_a_cause_without_a_key_of_ours_gets_no_invented_statement(db: Connection):
    db.execute(BLOCKED)
    assert rows(db, "select rows, complete, mending from reaper.blocked_causes(20)") == [
        (21, False, "-- Remove the cause that the message names, then:\nselect reaper.unblock();")
    ]


def test_history_is_told_by_minute_and_lag_by_quantile(
    db: Connection, paste: Pastes, drain: Callable[..., Any]
):
    assert rows(db, "select * from reaper.expiry_lag()") == [(None, None)]
    paste.many("old", 10, expires="-2 hours")
    paste.many("new", 90, expires="-1 minute")
    p50, p99 = rows(db, "select * from reaper.expiry_lag()")[0]
    assert 60 <= p50.total_seconds() < 120
    assert 7200 <= p99.total_seconds() < 7300
    drain()
    assert rows(db, "select sum(rows_deleted), sum(bytes_freed) from reaper.runs_by_minute()") == [
        (100, 1000)
    ]
    db.execute("update reaper.runs set finished_at = finished_at - interval '25 hours'")
    assert rows(db, "select * from reaper.runs_by_minute()") == []


def test_reasons_are_kept_where_policies_and_blocks_are_changed(db: Connection):
    db.execute("create table public.visits (id bigint primary key, at timestamptz not null)")
    db.execute("create index on public.visits (at)")
    db.execute("grant select, delete, update (at) on public.visits to reaper_owner")
    db.execute("select reaper.add_retention_policy('visits', 'public.visits', 'at', '1 year')")
    for verb in ("enable", "disable", "remove"):
        db.execute(f"select reaper.{verb}_policy('visits', 'because of ' || %s)", [verb])
    kept = rows(db, "select action, reason from reaper.audit where reason is not null order by audit_id")
    assert kept == [(f"{verb}_policy", f"because of {verb}") for verb in ("enable", "disable", "remove")]
