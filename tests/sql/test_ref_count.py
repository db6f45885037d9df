"""ref_count is a cache, the paste rows are the truth: wrong by hand, and nothing live is lost."""

import pytest

from tests.support.paste_fixtures import both_claim_modes, codes, contents, record, refs, unbound, value


def drift(db):
    return [
        tuple(row) for row in db.execute("select content_hash, expected, found, action from reaper.drift")
    ]


def set_count(db, count):
    db.execute("update content set ref_count = %s", [count])


@both_claim_modes
@pytest.mark.parametrize("count", [0, 1, 2])
def test_content_with_live_pastes_survives_a_count_that_is_too_low_and_is_repaired(db, paste, drain, count):
    paste.many("dying", 2, content="shared")
    paste.many("alive", 3, content="shared", expires="1 day")
    set_count(db, count)
    assert drain() == set()
    assert refs(db, "shared") == 3
    assert drift(db) == [("shared", count - 2, 3, "raised")]


@both_claim_modes
def test_a_count_that_is_too_low_but_not_used_up_is_repaired_when_it_is(db, paste, clock, drain):
    paste("first", content="shared")
    paste("second", content="shared", expires="1 day")
    paste.many("alive", 3, content="shared", expires="1 year")
    set_count(db, 2)
    drain()
    assert (refs(db, "shared"), drift(db)) == (1, [])
    clock.advance("2 days")
    drain()
    assert refs(db, "shared") == 3
    assert drift(db) == [("shared", 0, 3, "raised")]


@both_claim_modes
@pytest.mark.parametrize("count", [0, 1])
def test_content_without_pastes_is_collected_although_its_count_was_too_low(db, paste, drain, count):
    paste.many("dying", 2, content="shared")
    set_count(db, count)
    assert drain() == {"key of shared"}
    assert contents(db) == set()
    assert drift(db) == [("shared", count - 2, 0, "collected")]


@both_claim_modes
@pytest.mark.broken_on_purpose
def test_content_whose_count_is_too_high_is_left_and_written_down(db, paste, drain):
    paste.many("dying", 2, content="shared")
    set_count(db, 5)
    assert drain() == set()
    assert refs(db, "shared") == 3
    assert drift(db) == [("shared", 3, 0, "left")]


@both_claim_modes
@pytest.mark.broken_on_purpose
def test_a_count_that_is_too_high_is_not_noticed_while_a_paste_lives(db, paste, drain):
    paste("dying", content="shared")
    paste("alive", content="shared", expires="1 day")
    set_count(db, 7)
    drain()
    assert (refs(db, "shared"), drift(db)) == (6, [])


@both_claim_modes
def test_a_right_count_is_no_drift(db, paste, drain):
    paste.many("dying", 2, content="shared")
    paste("alive", content="shared", expires="1 day")
    paste("lonely", content="lonely")
    drain()
    assert drift(db) == []


def test_pastes_that_are_expired_but_in_another_batch_count_as_references(db, paste, me):
    paste.many("dying", 4, content="shared")
    set_count(db, 1)
    first, second = me.claim(2), me.claim(2)
    assert me.drop(first) == []
    assert refs(db, "shared") == 2
    assert [gone.content_hash for gone in me.drop(second)] == ["shared"]


@both_claim_modes
def test_several_wrong_counts_in_one_batch_are_judged_one_by_one(db, paste, drain):
    paste.many("low", 2, content="low")
    paste("low alive", content="low", expires="1 day")
    paste.many("zero", 2, content="zero")
    paste.many("right", 2, content="right")
    db.execute("update content set ref_count = 0 where content_hash <> 'right'")
    assert drain() == {"key of zero", "key of right"}
    assert codes(db) == {"low alive"}
    assert refs(db, "low") == 1
    assert sorted(drift(db)) == [("low", -2, 1, "raised"), ("zero", -2, 0, "collected")]


@both_claim_modes
@pytest.mark.parametrize("alive", [0, 1])
def test_a_count_that_is_null_in_an_adopted_table_counts_as_zero(db, paste, drain, alive):
    db.execute("alter table content alter ref_count drop not null")
    paste.many("dying", 2, content="shared")
    if alive:
        paste("alive", content="shared", expires="1 day")
    set_count(db, None)
    assert drain() == (set() if alive else {"key of shared"})
    assert refs(db, "shared") == (1 if alive else None)
    assert drift(db) == [("shared", -2, alive, "raised" if alive else "collected")]


@both_claim_modes
def test_an_integer_count_of_an_adopted_table_serves_as_well(db, paste, drain):
    with unbound(db):
        db.execute("alter table content alter ref_count type integer, alter size_bytes type integer")
    paste.many("dying", 2, content="shared")
    paste("alive", content="shared", expires="1 day")
    drain()
    assert refs(db, "shared") == 1


def test_a_drift_that_was_rolled_back_with_its_drop_is_noticed_again(db, paste, me):
    paste("dying")
    set_count(db, 0)
    batch = me.claim()
    with db.transaction(force_rollback=True):
        me.drop(batch)
    assert drift(db) == []
    me.drop(batch)
    assert record(db, "select action from reaper.drift").action == "collected"


@both_claim_modes
def test_health_counts_the_drift_of_the_last_day(db, paste, clock, drain):
    paste("dying")
    set_count(db, 0)
    drain()
    assert value(db, "select drift_last_day from reaper.health") == 1
    clock.advance("25 hours")
    assert value(db, "select drift_last_day from reaper.health") == 0


COUNTING = """
create function count_down() returns trigger language plpgsql as $$ begin
    update public.content set ref_count = ref_count - 1 where content_hash = old.content_hash;
    return null;
end $$;
create trigger count_down after delete on pastes for each row execute function count_down();
"""


@both_claim_modes
def test_an_application_whose_own_trigger_counts_down_is_neither_blocked_nor_counted_twice(db, paste, drain):
    paste("last", content="dying")
    paste("due", content="shared")
    paste("live", content="shared", expires="1 day")
    db.execute(COUNTING)
    assert drain() == {"key of dying"}
    assert (codes(db), contents(db), refs(db, "shared")) == ({"live"}, {"shared"}, 1)
    assert value(db, "select count(*) from reaper.blocked") == 0
    assert drift(db) == []
