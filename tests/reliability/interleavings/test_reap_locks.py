"""What a reap holds while it waits, and what goes wrong without its safeguards."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Exploration, explore
from tests.support.interleavings.reap_scenes import (
    HELD,
    beside_reap,
    paste_locks,
    reap,
    reaped,
    reaper,
)
from tests.support.interleavings.scenes import ExploredDatabase, StartState, begin
from tests.support.mutants.mutant import Edit

pytestmark = pytest.mark.ordeal("mutants", aim="every mutant caught", share=0)

# A paste is taken away from its content, and its content is busy, without a lock that the foreign key needs.
BUSY = "select from content where content_hash = '{}' for no key update"
TAKE = "select from pastes where short_code = '{}' for update"
MOVE = "update pastes set content_hash = 'g' where short_code = 'a'"
TOUCH = "update pastes set created_at = now() where short_code = '{}'"
UNDO = "perform reaper_internal.undo();"


def without(database: ExploredDatabase, *, function: str, replace: str, by: str = "", times: int = 1) -> None:
    """Load a function of this release into the test's database with one part of it exchanged."""
    Edit(function, replace, by, times).load(database.conn)
    database.count("mutants caught")


def play(
    database: ExploredDatabase, start: StartState, actors: Mapping[str, Actor], order: str | None = None
) -> Exploration:
    """One order, or all; what a reap holds while it waits is a violation."""
    return beside_reap(database, start, actors, only=order)


def play_locks(
    database: ExploredDatabase, start: StartState, actors: Mapping[str, Actor], order: str | None = None
) -> Exploration:
    """As play, for writers that do not count, and rows that end up blocked."""
    return explore(database.connect, actors, reset=start.reset, check=paste_locks, only=order)


def problems(result: Exploration) -> str:
    """All that went wrong in any order, in words."""
    wrong = [found for run in result.runs for found in run.violations]
    errors = [str(o) for run in result.runs for o in run.outcomes.values() if o.sqlstate not in (None, HELD)]
    return "\n".join(wrong + errors)


# The writer takes content, then paste; a reap that comes between waits for the content.
CONTENT_THEN_PASTE = {
    "writer": Actor(begin(BUSY.format("h")), TOUCH.format("a"), "commit"),
    "reaper": reaper(),
}


def test_a_reap_that_takes_pastes_before_it_waits_for_contents_ends_in_a_deadlock(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h"})
    result = play(database, start, CONTENT_THEN_PASTE)
    assert not problems(result)
    assert result.waits("reaper1")
    without(
        database,
        function="release_rows",
        replace="if p_attempt = 'wait' then",
        by="… v_pastes := reaper_internal.lock_pastes(p_codes, p_places, p_marked, p_now);",
    )
    result = play(database, start, CONTENT_THEN_PASTE)
    assert result.deadlocks
    assert "paste a is held by a reap that waits" in problems(result)


def test_a_reap_that_keeps_the_locks_of_its_first_attempt_ends_in_a_deadlock(
    database: ExploredDatabase,
) -> None:
    """Rows are locked in the subtransaction that deletes them, so that its failure lets them go."""
    start = StartState(due={"a": "h"})
    assert not problems(play(database, start, CONTENT_THEN_PASTE))
    without(
        database,
        function="reap_due",
        replace="begin begin v_due :=",
        by="begin v_due := reaper_internal.lock_due(p_limit, p_after, p_after_code, p_now); begin v_due :=",
    )
    assert play(database, start, CONTENT_THEN_PASTE).deadlocks


def test_a_reap_that_leaves_more_than_a_few_rows_is_found_out(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "g"})
    actors = {"writer": Actor(begin(BUSY.format("h")), "commit"), "reaper": reaper()}
    result = play(database, start, actors)
    assert not problems(result)
    assert (bool(result.waits("reaper1")), reaped(result)) == (True, {2})
    without(database, function="release_locked", replace="raise lock_not_available …;", by="null;")
    result = play(database, start, actors)
    assert (bool(result.waits("reaper1")), reaped(result)) == (False, {1, 2})


# The first wait ends, and the paste has other content by then, which another writer holds.
MOVED = {
    "mover": Actor(begin(BUSY.format("h")), MOVE, "commit"),
    "writer": Actor(begin(BUSY.format("g")), TOUCH.format("a"), "commit"),
    "reaper": reaper(),
}
MOVED_ORDER = "mover1 (reaper1 waits) mover2 writer1 mover3 writer2 writer3"


# An attempt that released nothing is undone where its locks were taken, and once more by who began it.
INNER_UNDO = {"function": "release_or_block", "replace": UNDO, "by": "null;"}


def test_an_attempt_that_released_nothing_and_keeps_its_locks_is_found_out(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h"}, live={"y": "h", "z": "g"})
    without(database, **INNER_UNDO)
    assert not problems(play_locks(database, start, MOVED, MOVED_ORDER))
    without(
        database,
        function="reap_due",
        replace=f"{UNDO} end if; exception",
        by="release := null; end if; exception",
    )
    assert "paste a is held by a reap that waits" in problems(play_locks(database, start, MOVED, MOVED_ORDER))


def test_a_last_look_that_released_nothing_and_keeps_its_locks_is_found_out(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h"}, live={"y": "h", "z": "g"})
    hold = f"{TAKE.format('a')}; {BUSY.format('h')}"
    actors = {**MOVED, "mover": Actor(begin(hold), MOVE, "commit")}
    without(database, **INNER_UNDO)
    assert not problems(play_locks(database, start, actors, MOVED_ORDER))
    without(database, function="reap_held", replace=UNDO, by="continue;")
    assert "paste a is held by a reap that waits" in problems(
        play_locks(database, start, actors, MOVED_ORDER)
    )


def test_a_reap_that_does_not_look_at_the_content_after_its_wait_forgets_a_reference(
    database: ExploredDatabase,
) -> None:
    """The content that the paste has by now is not locked, and would not be counted down."""
    count = (
        "update content set ref_count = ref_count + case content_hash when 'g' then 1 else -1 end"
        " where content_hash in ('g', 'h')"
    )
    start = StartState(due={"a": "h"}, live={"y": "h", "z": "g"})
    actors = {"mover": Actor(begin(BUSY.format("h")), f"{MOVE}; {count}", "commit"), "reaper": reaper()}
    order = "mover1 (reaper1 waits) mover2 mover3"
    assert not problems(play(database, start, actors, order))
    without(database, function="release_rows", replace="v_contents.busy := …;")
    assert "ref_count" in problems(play(database, start, actors, order))


# The row that a drop left has busy content; another due paste of it is held, so that a wait follows.
LEFT_BUSY = {
    "holder": Actor(begin(TAKE.format("b")), "commit"),
    "writer": Actor(begin(BUSY.format("h")), TOUCH.format("a"), "commit"),
    "reaper": reaper(),
}
LEFT_ORDER = "holder1 writer1 (reaper1 waits) holder2 writer2 writer3"


def test_a_reap_of_marked_rows_that_released_none_and_keeps_its_locks_is_found_out(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h", "b": "h"}, claimed={"busy": 1}, left=("busy",))
    assert not problems(play(database, start, LEFT_BUSY, LEFT_ORDER))
    without(database, function="reap_ownerless", replace=f"0 then {UNDO}", by="0 then return null;")
    assert "paste a is held by a reap that waits" in problems(play(database, start, LEFT_BUSY, LEFT_ORDER))


def test_marked_rows_that_live_are_not_held_while_a_reap_waits(database: ExploredDatabase) -> None:
    """The marked row was extended by hand: it is to be given back, but not before the wait."""

    start = StartState(due={"a": "h", "b": "h"}, claimed={"busy": 1}, left=("busy",))

    def extended(conn: Connection) -> Mapping[str, Any]:
        memory = start.reset(conn)
        conn.execute("update pastes set expires_at = now() + interval '1 day' where short_code = 'a'")
        return memory

    def look() -> Exploration:
        return explore(
            database.connect,
            LEFT_BUSY,
            reset=extended,
            check=paste_locks,
            only=LEFT_ORDER,
        )

    assert not problems(look())
    without(
        database,
        function="reap_ownerless",
        replace="if not p_last then perform reaper_internal.undo(); end if;",
    )
    assert look().deadlocks


GATE = """
    create function public.gate() returns boolean language plpgsql as $$
    begin
        perform pg_advisory_xact_lock_shared(7);
        return true;
    end $$;
"""


def test_a_row_that_was_extended_while_a_reap_came_to_it_is_not_held_while_it_waits(
    database: ExploredDatabase,
) -> None:
    """The look at due rows is stopped between its snapshot and its locks; another due row makes it wait."""
    database.conn.execute(GATE)
    Edit("lock_due", "and p.short_code <> all (v_blocked)", "… and public.gate()").load(database.conn)
    start = StartState(due={"a": "g", "b": "h"})
    actors = {
        "keeper": Actor(begin("select pg_advisory_xact_lock(7)"), "commit"),
        "holder": Actor(begin(f"{TAKE.format('b')}; {BUSY.format('h')}"), "commit"),
        "writer": Actor("update pastes set expires_at = null where short_code = 'a'"),
        "reaper": reaper(),
    }
    order = "keeper1 holder1 (reaper1 waits) writer1 keeper2 holder2"
    assert not problems(play(database, start, actors, order))
    without(
        database,
        function="reap_due",
        replace="codes is null then perform reaper_internal.undo();",
        by="codes is null then return;",
    )
    assert "paste a is held by a reap that waits" in problems(play(database, start, actors, order))


POISON = """
    create function poison() returns trigger language plpgsql as $$
    begin
        if old.short_code like 'poison%' and current_user = 'reaper_owner' then
            raise exception 'not this one';
        end if;
        return old;
    end $$;
    create trigger poison before delete on pastes for each row execute function poison();
"""


def test_two_reaps_that_meet_one_poisoned_row_do_not_wait_with_pastes_in_their_hands(
    database: ExploredDatabase,
) -> None:
    database.conn.execute(POISON)
    start = StartState(due={"a": "g", "poison": "h", "b": "i", "c": "k"})
    actors = {"reaper": reaper(3), "second": reaper(3)}
    result = play_locks(database, start, actors).assert_clean()
    database.explored(result)
    assert not any(run.waited for run in result.runs)
    without(database, function="release_or_block", replace="if not p_marked and (", by="if false and (")
    assert play_locks(database, start, actors).waits("second1")


def test_a_reap_that_is_redone_in_halves_waits_for_nothing(database: ExploredDatabase) -> None:
    """One of eleven contents is busy, which is few; one of the others is poisoned."""
    database.conn.execute(POISON)
    due = {f"a{n}": f"a{n}" for n in range(9)} | {"poison": "p", "z": "h"}
    start = StartState(due=due)
    actors = {"writer": Actor(begin(BUSY.format("h")), "commit"), "reaper": Actor(reap(20), "commit")}
    result = play_locks(database, start, actors).assert_clean()
    assert not result.waits("reaper1")
    assert reaped(result) == {9, 10}
    without(database, function="release_or_block", replace="'leave_all'", by="'wait'", times=2)
    assert "is held by a reap that waits" in problems(play_locks(database, start, actors))


def test_a_reap_that_does_not_look_again_says_nothing_while_something_is_due(
    database: ExploredDatabase,
) -> None:
    """Another reap held all rows, and is taken back."""
    start = StartState(due={"a": "h"})
    actors = {"other": reaper(end="rollback"), "reaper": reaper()}
    assert not problems(play(database, start, actors))
    without(
        database,
        function="reap",
        replace="reaper_internal.reap_held(p_limit, v_now)",
        by="null::reaper.release",
    )
    assert "a reap said that nothing is due, and 1 are" in problems(play(database, start, actors))


def test_a_reap_that_does_not_name_held_rows_says_nothing_while_something_is_due(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h"})
    actors = {"holder": Actor(begin(TAKE.format("a")), "commit"), "reaper": reaper()}
    assert not problems(play(database, start, actors))
    without(database, function="reap_held", replace="raise lock_not_available …;", by="return null;")
    assert "a reap said that nothing is due, and 1 are" in problems(play(database, start, actors))


def test_a_last_look_that_is_not_repeated_names_rows_that_are_gone(database: ExploredDatabase) -> None:
    """What it waited for was another reap, which has deleted them."""
    start = StartState(due={"a": "h"})
    actors = {"other": reaper(), "reaper": reaper()}
    assert not play(database, start, actors).errors(HELD)
    without(database, function="reap_held", replace="v_futile < 6", by="v_futile < 1")
    assert play(database, start, actors).errors(HELD)


EXTENDED_IN_THE_WAIT = {
    "writer": Actor(
        begin(BUSY.format("h")), "update pastes set expires_at = null where short_code = 'a'", "commit"
    ),
    "reaper": Actor(reap(), "commit"),
}


def test_a_reap_that_does_not_look_at_the_expiry_after_its_wait_is_found_out(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h", "b": "h"})
    order = "writer1 (reaper1 waits) writer2 writer3"

    def gone() -> list[int | None]:
        return sorted(reaped(play(database, start, EXTENDED_IN_THE_WAIT, order)))

    assert gone() == [1]
    Edit("lock_pastes", "and (p_marked or p.expires_at <= p_now)", times=2).load(database.conn)
    assert gone() == [1], "the deletion looks again"
    without(
        database, function="release_locked", replace="and p.expires_at <= p_now returning", by="returning"
    )
    assert gone() == [2]


def test_a_reap_that_does_not_look_at_the_mark_after_its_wait_is_found_out(
    database: ExploredDatabase,
) -> None:
    """A claim takes the row during the wait: it belongs to the claim's batch."""
    start = StartState(due={"a": "h"})
    actors = {
        "writer": Actor(begin(BUSY.format("h")), "commit"),
        "marker": Actor("select batch_id from reaper.claim_expired(10, 'marker')"),
        "reaper": reaper(),
    }
    order = "writer1 (reaper1 waits) marker1 writer2"
    assert reaped(play(database, start, actors, order)) == {None}
    without(
        database,
        function="lock_pastes",
        replace="and (p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked",
        times=2,
    )
    assert reaped(play(database, start, actors, order)) == {1}


def test_a_blocked_row_that_an_operator_unblocks_and_changes_meets_no_deadlock(
    database: ExploredDatabase,
) -> None:
    """Its pause is over, so that a reap tries it again."""
    start = StartState(due={"a": "h"})

    def tried_before(conn: Connection) -> Mapping[str, Any]:
        conn.execute("delete from reaper.blocked")
        memory = start.reset(conn)
        conn.execute("insert into reaper.blocked values ('a', '23503', 'liked', 1, now(), now())")
        return memory

    actors = {
        "operator": Actor(begin("select reaper.unblock('a')"), TOUCH.format("a"), "commit"),
        "reaper": reaper(),
    }

    def look() -> Exploration:
        return explore(database.connect, actors, reset=tried_before, check=paste_locks)

    database.explored(look().assert_clean(allow={HELD, "RP005"}))
    without(database, function="release_locked", replace="for update skip locked")
    assert look().deadlocks
