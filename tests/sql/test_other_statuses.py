"""Rows with another status than NOT_EXPIRED: an application's tombstones, or none in a nullable column."""

import pytest

from tests.support.paste_fixtures import both_claim_modes, codes, column, findings, marked, record, value

OTHERS = """
alter table pastes alter column deletion_status drop not null;
update pastes set deletion_status = case when short_code = 'p00001' then 'DELETED' end
 where short_code in ('p00001', 'p00002')
"""
BEFORE = {"p00001": "DELETED", "p00002": None, "p00003": "NOT_EXPIRED"}


@pytest.fixture
def tombstones(db, paste):
    """A tombstone, a row without a status, and a plain one, all of them due."""
    paste.many("p", 3)
    db.execute(OTHERS)


def statuses(db):
    return dict(db.execute("select short_code, deletion_status from pastes").fetchall())


@both_claim_modes
@pytest.mark.usefixtures("tombstones")
def test_they_are_deleted_once_they_are_expired(db, drain):
    drain()
    assert codes(db) == set()


@pytest.mark.usefixtures("tombstones")
def test_a_drain_by_sql_alone_deletes_them_too(db):
    db.execute("call reaper.drain()")
    assert codes(db) == set()


@both_claim_modes
def test_a_tombstone_that_is_not_expired_stays_and_violates_nothing(db, paste, drain):
    paste("a", expires="1 day")
    db.execute("update pastes set deletion_status = 'DELETED'")
    drain()
    assert statuses(db) == {"a": "DELETED"}
    assert findings(db) == []


@pytest.mark.usefixtures("tombstones")
def test_all_that_counts_due_rows_counts_them(db, paste):
    paste("later", expires="1 hour")
    assert value(db, "select reaper.count_due()") == 3
    assert value(db, "select sum(waiting) from reaper.backlog") == 3
    assert value(db, "select rows_due from reaper.plan_drain()") == 3
    assert value(db, "select due_rows from reaper.health") == 3
    assert value(db, "select oldest_waiting from reaper.due_summary(now())") is not None
    assert "expired: " in str(column(db, "select w::text from reaper.why('p00001') as w"))
    assert findings(db) == []


@pytest.mark.usefixtures("tombstones")
def test_a_claim_that_is_returned_gives_each_row_its_status_back(db, me, claim):
    batch = claim()
    assert len(marked(db)) == 3
    assert me.call("return_batch", batch)[0] == (3,)
    assert statuses(db) == BEFORE


@pytest.mark.usefixtures("tombstones")
def test_the_watchdog_gives_each_row_its_status_back(db, clock, claim, reset_stuck):
    claim()
    clock.advance("3 hours")
    assert reset_stuck().rows_reset == 3
    assert statuses(db) == BEFORE


@pytest.mark.usefixtures("tombstones")
def test_rows_that_a_drop_does_not_delete_get_their_status_back(db, claim, drop):
    batch = claim()
    db.execute("update pastes set expires_at = null where short_code < 'p00003'")
    drop(batch)
    assert statuses(db) == {code: BEFORE[code] for code in ("p00001", "p00002")}
    assert value(db, "select other_statuses from reaper.batches") is None


@both_claim_modes
@pytest.mark.usefixtures("tombstones")
def test_rows_that_cannot_be_deleted_get_their_status_back(db, drain):
    db.execute("create table comments (code text references pastes)")
    db.execute("insert into comments values ('p00001'), ('p00002'), ('p00003')")
    drain()
    assert statuses(db) == BEFORE
    assert set(column(db, "select short_code from reaper.blocked")) == set(BEFORE)


SWALLOW = """
create function swallow() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger swallow before {} on pastes for each row execute function swallow();
"""


@pytest.mark.usefixtures("tombstones")
@pytest.mark.parametrize("statement", ["delete", "update"])
def test_rows_whose_deletion_or_mark_a_trigger_suppresses_keep_their_status(db, me, statement):
    db.execute(SWALLOW.format(statement))
    if batch := me.try_claim():
        me.drop(batch)
    assert statuses(db) == BEFORE
    assert len(column(db, "select short_code from reaper.blocked")) == 3


@pytest.mark.usefixtures("tombstones")
def test_rows_whose_content_is_held_get_their_status_back(db, worker, claim, drop):
    batch = claim()
    db.execute(
        "set lock_timeout = '1ms'; alter function reaper.drop_references(uuid) set lock_timeout = '1ms'"
    )
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from content for update")
        drop(batch)
    assert statuses(db) == BEFORE


@pytest.mark.usefixtures("tombstones")
def test_a_row_that_is_busy_during_its_drop_gets_its_status_back_from_the_watchdog(
    db, worker, claim, drop, reset_stuck
):
    batch = claim()
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00001' for update")
        drop(batch)
        assert reset_stuck().rows_reset == 0
    busy = record(db, "select short_codes, other_statuses from reaper.batches where state = 'CLAIMED'")
    assert busy == (["p00001"], {"p00001": "DELETED"})
    assert reset_stuck().rows_reset == 1
    assert statuses(db) == {"p00001": "DELETED"}


@pytest.mark.usefixtures("tombstones")
def test_a_claim_that_takes_a_part_of_an_ownerless_batch_takes_its_statuses(db, me, claim):
    claim()
    db.execute("update reaper.batches set worker = null")
    first = me.claim(1)
    second = me.claim(2)
    assert value(db, "select count(*) from reaper.batches") == 2
    for batch in (first, second):
        me.call("return_batch", batch)
    assert statuses(db) == BEFORE


def test_strays_become_not_expired_whatever_they_were(db, paste, clock, reset_stuck):
    paste("a")
    db.execute("update pastes set deletion_status = 'DELETION_IN_PROGRESS'")
    clock.advance("3 hours")
    assert reset_stuck().rows_reset == 1
    assert statuses(db) == {"a": "NOT_EXPIRED"}


def test_a_batch_of_plain_rows_remembers_nothing(db, paste, claim):
    paste.many("p", 3)
    claim()
    assert record(db, "select other_statuses from reaper.batches").other_statuses is None
