"""Poison: rows that PostgreSQL refuses to delete stop nobody, and go when the cause is mended."""

from datetime import timedelta

import pytest

from tests.support.paste_fixtures import (
    both_claim_modes,
    codes,
    column,
    contents,
    marked,
    record,
    refs,
    refused,
    value,
)

COMMENTS = "create table comments (code text references pastes {}); insert into comments values ('p00002')"
SWALLOW = """
create function keep() returns trigger language plpgsql as $$ begin {} end; $$;
create trigger keep {} delete on {} for each row when ({}) execute function keep()
"""
BAD = "old.short_code = 'p00002'"
CAUSES = {
    "foreign key": (COMMENTS.format(""), "drop table comments", "23503"),
    "deferred foreign key": (
        COMMENTS.format("deferrable initially deferred"),
        "drop table comments",
        "23503",
    ),
    "raising trigger": (
        SWALLOW.format("raise exception 'not this one';", "before", "pastes", BAD),
        "drop trigger keep on pastes",
        "P0001",
    ),
    "raising trigger afterwards": (
        SWALLOW.format("raise exception 'not this one';", "after", "pastes", BAD),
        "drop trigger keep on pastes",
        "P0001",
    ),
    "trigger that finds no data": (
        SWALLOW.format("raise no_data_found;", "before", "pastes", BAD),
        "drop trigger keep on pastes",
        "P0002",
    ),
    "trigger with an assertion": (
        SWALLOW.format("assert false, 'not this one'; return old;", "before", "pastes", BAD),
        "drop trigger keep on pastes",
        "P0004",
    ),
    "swallowing trigger": (
        SWALLOW.format("return null;", "before", "pastes", BAD),
        "drop trigger keep on pastes",
        "27000",
    ),
    "trigger on content": (
        SWALLOW.format("raise exception 'not this one';", "before", "content", "old.content_hash = 'p00002'"),
        "drop trigger keep on content",
        "P0001",
    ),
    "foreign key on content": (
        "create table previews (hash text references content); insert into previews values ('p00002')",
        "drop table previews",
        "23503",
    ),
}


def pause(db):
    return value(db, "select next_attempt - reaper.clock() from reaper.blocked")


@both_claim_modes
@pytest.mark.parametrize(("cause", "remedy", "sqlstate"), CAUSES.values(), ids=CAUSES)
def test_everything_else_is_drained_and_the_row_waits_with_its_reason(
    db, paste, clock, drain, cause, remedy, sqlstate
):
    paste.many("p", 10)
    db.execute(cause)
    assert drain(limit=4) == {f"key of p{i:05}" for i in range(1, 11) if i != 2}
    assert codes(db) == contents(db) == {"p00002"}
    assert marked(db) == set()
    blocked = record(db, "select * from reaper.blocked")
    assert (blocked.short_code, blocked.sqlstate, blocked.attempts) == ("p00002", sqlstate, 1)
    assert blocked.message != ""

    assert drain() == set()
    db.execute(remedy)
    assert drain() == set()
    clock.advance("1 hour")
    assert drain() == {"key of p00002"}
    assert value(db, "select count(*) from reaper.blocked") == 0


def test_several_bad_rows_among_a_thousand_are_told_from_the_rest(db, paste, me):
    paste.many("p", 1000)
    db.execute("create table comments (code text references pastes)")
    db.execute("insert into comments select short_code from pastes where short_code like '%%77'")
    batch = me.claim()
    assert len(me.drop(batch)) == 990
    assert me.finish(batch)[:3] == (990, 0, 10)
    assert codes(db) == {f"p{i:05}" for i in range(77, 1000, 100)}
    assert value(db, "select count(*) from reaper.blocked") == 10


def test_a_batch_of_nothing_but_bad_rows_is_released_empty(db, paste, me):
    paste.many("p", 5)
    db.execute("create table comments as select short_code as code from pastes")
    db.execute("alter table comments add foreign key (code) references pastes")
    batch = me.claim()
    assert me.drop(batch) == []
    assert me.finish(batch) == (0, 0, 5, 0, 0, 0, 0, 0, 0)
    assert me.try_claim() is None


@both_claim_modes
def test_bad_and_good_rows_of_one_content_leave_the_right_count(db, paste, drain):
    paste.many("p", 10, content="shared")
    db.execute(COMMENTS.format(""))
    assert drain() == set()
    assert refs(db, "shared") == 1
    assert codes(db) == {"p00002"}


@both_claim_modes
def test_a_row_that_stays_bad_is_tried_ever_more_rarely_up_to_once_a_day(db, paste, clock, drain):
    paste.many("p", 2)
    db.execute(COMMENTS.format(""))
    clock.stop()
    pauses = []
    for _ in range(7):
        drain()
        pauses.append(pause(db))
        clock.advance(str(pauses[-1]))
    assert [each / timedelta(hours=1) for each in pauses] == [1, 2, 4, 8, 16, 24, 24]
    assert value(db, "select attempts from reaper.blocked") == 7


def test_the_first_pause_is_a_setting(db, paste, clock, drain):
    db.execute("update reaper.settings set blocked_retry = '5 minutes'")
    clock.stop()
    paste.many("p", 2)
    db.execute(COMMENTS.format(""))
    drain()
    assert pause(db) == timedelta(minutes=5)


def test_a_blocked_row_is_not_tried_before_its_time_and_not_claimed(db, paste, clock, me):
    clock.stop()
    paste.many("p", 2)
    db.execute(COMMENTS.format(""))
    me.drain()
    clock.advance("59 minutes 59 seconds")
    assert me.try_claim() is None
    clock.advance("1 second")
    assert me.try_claim() is not None


@both_claim_modes
def test_the_reason_is_that_of_the_last_attempt(db, paste, clock, drain):
    paste.many("p", 2)
    cause, remedy, _ = CAUSES["foreign key"]
    db.execute(cause)
    drain()
    db.execute(remedy)
    db.execute(CAUSES["raising trigger"][0])
    clock.advance("1 hour")
    drain()
    assert record(db, "select sqlstate, message from reaper.blocked") == ("P0001", "not this one")


@pytest.mark.parametrize("end", ["delete from pastes", "update pastes set expires_at = null"])
def test_a_blocked_row_that_is_gone_or_alive_again_is_forgotten(db, paste, drain, reset_stuck, end):
    paste.many("p", 2, content="shared")
    db.execute(COMMENTS.format("on delete no action"))
    drain()
    db.execute("drop table comments")
    db.execute(end)
    db.execute("update content set ref_count = (select count(*) from pastes)")
    reset_stuck()
    assert value(db, "select count(*) from reaper.blocked") == 0


def test_a_blocked_row_that_is_still_due_is_not_forgotten(db, paste, drain, reset_stuck):
    paste.many("p", 2)
    db.execute(COMMENTS.format(""))
    drain()
    reset_stuck()
    assert value(db, "select short_code from reaper.blocked") == "p00002"


@pytest.fixture
def blocked(db, paste, drain):
    """p00002 of three, which another table refers to."""
    paste.many("p", 3)
    db.execute(COMMENTS.format(""))
    drain()
    db.execute("drop table comments")


@pytest.mark.usefixtures("blocked")
@pytest.mark.parametrize("arguments", [[], ["p00002"]], ids=["all", "one"])
def test_a_row_is_unblocked_for_the_next_claim(db, me, drain, arguments):
    assert me.try_claim() is None
    assert me.call("unblock", *arguments)[0] == (1,)
    subject = arguments[0] if arguments else "all"
    audited = record(db, "select who, action, subject, detail from reaper.audit")
    assert audited == (db.info.user, "unblock", subject, "1 rows")
    drain()
    assert codes(db) == set()


@pytest.mark.usefixtures("blocked")
def test_a_code_that_is_not_blocked_is_refused_with_a_hint(db, me):
    with refused("RP005", "'p00001' is not blocked") as refusal:
        me.call("unblock", "p00001")
    assert "reaper.blocked_rows" in refusal.value.diag.message_hint
    assert column(db, "select short_code from reaper.blocked") == ["p00002"]


def test_where_nothing_is_blocked_nothing_is_unblocked(db, me):
    assert me.call("unblock")[0] == (0,)
    assert value(db, "select count(*) from reaper.audit") == 0


@pytest.mark.usefixtures("blocked")
def test_the_state_of_a_blocked_paste_says_how_to_unblock_it(db):
    said = str(column(db, "select w::text from reaper.why('p00002') as w"))
    assert "select reaper.unblock('p00002')" in said.replace("\\'", "'").replace("''", "'")


@both_claim_modes
def test_cascading_foreign_keys_do_not_stand_in_the_way(db, paste, drain):
    paste.many("p", 2)
    db.execute(COMMENTS.format("on delete cascade"))
    drain()
    assert codes(db) == set()
    assert value(db, "select count(*) from comments") == 0


def test_what_passes_by_itself_is_raised_to_the_caller_and_blames_no_row(db, paste, me):
    paste.many("p", 4)
    trigger = SWALLOW.format("raise exception using errcode = '40001';", "before", "pastes", BAD)
    db.execute(trigger)
    batch = me.claim()
    with refused("40001"):
        me.drop(batch)
    assert value(db, "select count(*) from reaper.blocked") == 0
    assert len(marked(db)) == 4


FROZEN = "alter table pastes add constraint tidy check (short_code <> 'p00002') not valid"


def test_a_row_that_cannot_be_given_back_does_not_keep_the_others(
    db, paste, clock, worker, reset_stuck, invariants
):
    paste.many("p", 4)
    dead = worker("dead")
    dead.claim(3)
    dead.claim(1)
    db.execute(FROZEN)
    clock.advance("2 hours")
    assert reset_stuck() == (3, 2, 0)
    assert marked(db) == {"p00002"}
    assert invariants() == []
    db.execute("alter table pastes drop constraint tidy")
    assert reset_stuck() == (1, 1, 0)


def test_a_row_that_can_neither_go_nor_be_given_back_stays_in_a_batch(db, paste, me, invariants):
    paste.many("p", 3)
    batch = me.claim()
    db.execute(COMMENTS.format(""))
    db.execute(FROZEN)
    assert len(me.drop(batch)) == 2
    assert me.finish(batch)[:3] == (2, 0, 1)
    assert marked(db) == {"p00002"} == set(column(db, "select unnest(short_codes) from reaper.batches"))
    assert invariants() == []


def test_an_extended_row_that_cannot_be_given_back_stays_in_a_batch(db, paste, me, invariants):
    paste.many("p", 3)
    batch = me.claim()
    db.execute("update pastes set expires_at = null where short_code = 'p00002'")
    db.execute(FROZEN)
    assert len(me.drop(batch)) == 2
    assert marked(db) == codes(db) == {"p00002"}
    assert invariants() == []


@both_claim_modes
def test_a_trigger_of_the_application_finds_its_own_tables(db, paste, drain):
    db.execute(
        "create table farewells (short_code text);"
        "grant insert on farewells to reaper_owner;"
        "create function say_farewell() returns trigger language plpgsql set search_path = public as"
        " $$ begin insert into farewells values (old.short_code); return old; end $$;"
        "create trigger farewell before delete on pastes for each row execute function say_farewell()"
    )
    paste("a")
    drain()
    assert column(db, "select short_code from farewells") == ["a"]


@both_claim_modes
def test_a_trigger_that_denies_one_row_does_not_stop_the_others(db, paste, drain):
    db.execute(
        "create function hold() returns trigger language plpgsql as $$ begin"
        " if old.short_code = 'held' then raise insufficient_privilege using message = 'legal hold'; end if;"
        " return old; end $$;"
        "create trigger hold before delete on pastes for each row execute function hold()"
    )
    paste("a")
    paste("held")
    paste("z")
    drain()
    assert codes(db) == {"held"}
    assert column(db, "select message from reaper.blocked") == ["legal hold"]


def test_rights_that_reaper_lacks_blame_no_row(db, paste, me):
    paste("a")
    batch = me.claim()
    db.execute("revoke delete on content from reaper_owner")
    with refused("RP010", "no right to delete rows of public.content"):
        me.drop(batch)
    assert column(db, "select short_code from reaper.blocked") == []
    db.execute("grant delete on content to reaper_owner")


@pytest.mark.parametrize("refusal", ["raise no_data_found;", "assert false; return new;"])
def test_a_row_whose_mark_a_trigger_refuses_does_not_end_the_claims(db, paste, me, refusal):
    paste.many("p", 3)
    db.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin"
        f" {refusal} end; $$;"
        "create trigger refuse before update on pastes for each row when (old.short_code = 'p00001')"
        " execute function refuse()"
    )
    assert me.call("claim_expired", 2, "me")[0].claimed == 1
    assert column(db, "select short_code from reaper.blocked") == ["p00001"]
    assert me.call("claim_expired", 2, "me")[0].claimed == 1


@pytest.mark.parametrize("way", ["claim and drop", "reap"])
def test_a_violation_of_the_calling_transaction_is_not_blamed_on_rows(db, paste, worker, way):
    paste.many("p", 3)
    db.execute("create table a (id int primary key)")
    db.execute("create table b (id int references a deferrable initially deferred)")
    caller = worker("caller")
    with refused("23503"), caller.connection.transaction():
        caller.connection.execute("insert into b values (1)")
        if way == "reap":
            caller.reap()
        else:
            caller.drop(caller.claim())
    assert column(db, "select short_code from reaper.blocked") == []
    assert len(codes(db)) == 3
    assert marked(db) == set()


def test_a_reap_goes_past_rows_whose_deletion_meets_a_lock(db, paste, worker):
    """A row that refers to the paste goes with it, and another session holds that row."""
    paste.many("p", 6)
    db.execute("create table notes (code text references pastes on delete cascade)")
    db.execute("insert into notes values ('p00001')")
    db.execute("alter function reaper.reap_expired set lock_timeout = '50ms'")
    holder, me = worker("holder").connection, worker("me")
    with holder.transaction():
        holder.execute("select from notes for update")
        me.reap(2)
        me.reap(2)
        assert codes(db) == {"p00001", "p00002"}
        with refused("55P03"):
            me.reap(2)
    me.reap(2)
    assert codes(db) == set()


def test_an_error_before_any_row_was_seen_is_told_as_it_is(db, paste, me):
    paste("a")
    db.execute("alter table reaper.blocked rename column next_attempt to later")
    with refused("42703"):
        me.reap()
    with refused("42703"):
        me.claim()
    db.execute("alter table reaper.blocked rename column later to next_attempt")
