"""The explorer has teeth: take a safeguard out of the SQL, and it finds an order in which that does harm."""

from collections.abc import Iterable

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Exploration, Run, explore
from tests.support.interleavings.put_scenes import ENDS, crossed_waits, ended_once, room_for_one
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    Judge,
    StartState,
    begin,
    claim,
    codes,
    committed,
    drop,
    dropper,
    finish,
    interleave,
    settle,
    values,
)
from tests.support.mutants.mutant import Edit

pytestmark = pytest.mark.ordeal("mutants", aim="every mutant caught", share=0)

ALONE = StartState(due={"a": "h"}, claimed={"batch": 1})
INSERT = "insert into pastes (short_code, content_hash) values ('new', 'h')"
ADD = "update content set ref_count = ref_count + 1 where content_hash = 'h'"
FOREIGN_KEY_OFF = """
    alter table pastes disable trigger all;
    alter table content disable trigger all;
    alter table pastes enable trigger log;
    alter table content enable trigger log;
    alter table content enable trigger reaper_retired_key;
"""
EXTEND = "update pastes set expires_at = null where short_code = 'a'"


def without(database: ExploredDatabase, *, function: str, replace: str, by: str = "", times: int = 1) -> None:
    """Load a function of this release into the test's database with one part of it exchanged."""
    Edit(function, replace, by, times).load(database.conn)
    database.count("mutants caught")


def survives(code: str) -> Judge:
    """The judgement that what the writer committed is there."""

    def judge(conn: Connection, run: Run) -> Iterable[str]:
        wrote = any(outcome.value == 1 for outcome in run.outcomes.values())
        return [f"{code} is lost"] if wrote and committed(run, "writer") and code not in codes(conn) else []

    return judge


def against_drop(database: ExploredDatabase, writer: Actor, code: str) -> Exploration:
    return interleave(database, ALONE, {"writer": writer, "worker": dropper("batch")}, survives(code))


def problems(result: Exploration) -> str:
    """All that went wrong in any order, in words."""
    return "\n".join(wrong for found in result.violations.values() for wrong in found)


def test_a_weaker_lock_on_content_ends_in_a_deadlock_with_an_insert(database: ExploredDatabase) -> None:
    """The drop no longer waits for the new paste's transaction, and meets it when it deletes the content."""
    writer = Actor(begin(INSERT), ADD, "commit")
    assert not against_drop(database, writer, "new").deadlocks
    without(database, function="lock_contents", replace="for update) as l", by="for no key update) as l")
    assert against_drop(database, writer, "new").deadlocks


@pytest.mark.parametrize(
    ("before", "harm"),
    [("", "a is blocked"), (FOREIGN_KEY_OFF, "every paste has its content: h")],
    ids=["with the foreign key", "without"],
)
def test_a_weaker_lock_on_content_decides_before_an_insert_is_seen(
    database: ExploredDatabase, before: str, harm: str
) -> None:
    """The writer forgets to count; without the foreign key's triggers only the lock protects its paste."""
    database.conn.execute(before)
    lock = "select count(*) as n from (select from content where content_hash = 'h' for key share) as c"
    insert = "insert into pastes (short_code, content_hash) select 'new', 'h' where %(n)s = 1"
    actors = {"writer": Actor(begin(lock), insert, "commit"), "worker": dropper("batch")}

    def look() -> str:
        return problems(
            explore(database.connect, actors, reset=ALONE.reset, at_end=lambda conn, _run: settle(conn))
        )

    assert not look()
    without(database, function="lock_contents", replace="for update) as l", by="for no key update) as l")
    assert harm in look()


def test_a_drop_that_does_not_look_at_the_expiry_again_loses_an_extended_paste(
    database: ExploredDatabase,
) -> None:
    writer = Actor(begin(EXTEND), "commit")
    assert not problems(against_drop(database, writer, "a"))
    without(
        database,
        function="release_locked",
        replace="and p.expires_at <= p_now returning",
        by="returning",
    )
    assert "a is lost" in problems(against_drop(database, writer, "a"))


def test_a_drop_that_does_not_look_at_the_mark_again_takes_a_row_that_was_given_back(
    database: ExploredDatabase,
) -> None:
    unmark = "update pastes set deletion_status = 'NOT_EXPIRED' where short_code = 'a'"
    actors = {"writer": Actor(unmark), "worker": Actor(drop("batch"))}

    def taken(conn: Connection, run: Run) -> list[str]:
        first = run.schedule.startswith("writer1")
        return ["a was not marked, and is gone"] if first and "a" not in codes(conn) else []

    def look() -> str:
        return problems(explore(database.connect, actors, reset=ALONE.reset, at_end=taken))

    assert not look()
    without(
        database,
        function="lock_pastes",
        replace="and (p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked",
        times=2,
    )
    assert "a was not marked" in look()


def test_believing_the_count_instead_of_the_rows_is_found_out(database: ExploredDatabase) -> None:
    """With a count that is too low the content of a live paste would go."""
    start = StartState(due={"a": "h"}, live={"b": "h"}, claimed={"batch": 1}, counts={"h": 1})

    def harm(conn: Connection, _run: Run) -> list[str]:
        refs = values(conn, "select ref_count from content where content_hash = 'h'")
        blocked = values(conn, "select message from reaper.blocked")
        return blocked + ([] if refs == [1] else [f"ref_count of the live content is {refs}"])

    def look() -> str:
        return problems(
            explore(database.connect, {"worker": dropper("batch")}, reset=start.reset, at_end=harm)
        )

    assert not look()
    without(database, function="release_contents", replace="and n.found = 0 as dies", by="as dies")
    assert 'foreign key constraint "pastes_content_hash_fkey"' in look()


def test_deciding_before_the_locks_leaves_content_that_nobody_needs(database: ExploredDatabase) -> None:
    """Two drops of the last two references: each would see the other's paste and leave the content."""
    start = StartState(due={"a": "h", "b": "h"}, claimed={"one": 1, "two": 1})
    actors = {"first": dropper("one"), "second": dropper("two")}
    assert not problems(interleave(database, start, actors))
    without(
        database, function="lock_contents", replace="order by c.content_hash for update) as l", by=") as l"
    )
    assert problems(interleave(database, start, actors))


def test_a_token_that_is_not_asked_for_its_state_forgets_objects(database: ExploredDatabase) -> None:
    back = Actor(begin("select reaper.return_batch(%(batch)s)"), "commit")
    actors = {"back": back, "worker": dropper("batch")}
    assert not problems(interleave(database, ALONE, actors))
    without(database, function="lock_batch", replace="or v_batch.state <> all (p_states)")
    assert "1 contents died, 0 of their objects are owed or gone" in problems(
        interleave(database, ALONE, actors)
    )


def test_a_token_that_is_kept_at_adoption_lets_two_settle_one_batch(database: ExploredDatabase) -> None:
    """Who wakes up late settles what another is still working on."""
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, released=("batch",), orphaned=True)
    adopt = "select batch_id as adopted from reaper.adopt_batch('adopter')"
    finish = "select rows_deleted from reaper.finish_batch(%(batch)s, '[]')"
    actors = {"adopter": Actor(adopt, "select 1"), "holder": Actor(finish)}

    def stolen(_conn: Connection, run: Run) -> list[str]:
        late = run.schedule.startswith("adopter1") and not run.outcomes["holder1"].sqlstate
        return ["the old holder settled the adopter's batch"] if late else []

    assert not problems(interleave(database, start, actors, stolen))
    without(database, function="adopt_batch", replace="batch_id = gen_random_uuid(),")
    assert "the old holder settled" in problems(interleave(database, start, actors, stolen))


def test_a_blind_guard_of_retired_names_is_found_out(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, legacy=True)
    writer = Actor(begin("insert into content (content_hash, ref_count) values ('h', 0)"), "commit")
    actors = {"writer": writer, "worker": dropper("batch")}
    assert not problems(interleave(database, start, actors))
    without(
        database, function="require_free_key", replace="if exists (select", by="if false and exists (select"
    )
    assert "no live object is to be deleted: h" in problems(interleave(database, start, actors))


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_a_drop_from_an_old_snapshot_is_found_out(database: ExploredDatabase, isolation: str) -> None:
    """Without the refusal a paste that was committed after the snapshot is not seen."""
    worker = Actor(begin("select 1"), drop("batch"), "commit", isolation=isolation)
    writer = Actor(begin(INSERT), ADD, "commit")
    actors = {"writer": writer, "worker": worker}
    without(
        database, function="require_read_committed", replace="<> 'read committed' then", by="= 'none' then"
    )
    result = interleave(database, ALONE, actors, survives("new"))
    assert problems(result) or result.errors("40001")


@pytest.mark.slow
def test_a_reservation_without_its_lock_is_found_out(database: ExploredDatabase) -> None:
    assert not problems(room_for_one(database))
    without(
        database, function="lock_backend_with_room", replace="p_backend for no key update", by="p_backend"
    )
    assert "20 of 19 bytes are taken" in problems(room_for_one(database))


def test_a_backend_that_is_held_by_who_found_it_full_ends_in_a_deadlock(database: ExploredDatabase) -> None:
    assert not crossed_waits(database).deadlocks
    without(
        database,
        function="lock_backend_with_room",
        replace="raise exception sqlstate 'RP008';",
        by="return false;",
    )
    assert crossed_waits(database).deadlocks


@pytest.mark.parametrize("other", ["abort", "pending reaper finds nothing"])
def test_an_intent_that_is_settled_without_its_lock_is_found_out(
    database: ExploredDatabase, other: str
) -> None:
    """The paste would be made, and its bytes be queued for deletion."""
    start = StartState(live={"b": "g"}, begun={"new": "h"}, leased=True)
    actors = {"commit": ENDS["commit"], "other": ENDS[other]}
    assert not problems(interleave(database, start, actors, ended_once))
    without(
        database,
        function="commit_put",
        replace="p_intent_id for update",
        by="p_intent_id",
    )
    assert "no live object is to be deleted" in problems(interleave(database, start, actors, ended_once))


HELD = Actor(begin("select from pastes where short_code = 'a' for update"), "commit")
BOTH = "select from content where content_hash in ('g', 'h') order by content_hash for update"


def test_a_claim_that_waits_for_held_rows_is_found_out(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "g"})
    actors = {"writer": HELD, "worker": Actor(claim("worker", 2))}
    assert not interleave(database, start, actors).waits("worker1")
    without(database, function="lock_due", replace="for update skip locked", by="for update")
    assert interleave(database, start, actors).waits("worker1")


def test_a_drop_that_waits_for_held_rows_is_found_out(database: ExploredDatabase) -> None:
    actors = {"writer": HELD, "worker": dropper("batch")}
    assert not interleave(database, ALONE, actors).waits("worker1")
    without(database, function="lock_pastes", replace="for update skip locked", by="for update", times=2)
    assert interleave(database, ALONE, actors).waits("worker1")


def test_a_drop_that_forgets_rows_which_somebody_held_is_found_out(database: ExploredDatabase) -> None:
    actors = {"writer": HELD, "worker": dropper("batch")}
    assert not problems(interleave(database, ALONE, actors))
    without(database, function="release_claimed", replace="perform …disown_rows(…);")
    assert "every marked row is in a batch: a" in problems(interleave(database, ALONE, actors))


def test_a_watchdog_that_forgets_rows_which_somebody_held_is_found_out(database: ExploredDatabase) -> None:
    actors = {"writer": HELD, "watchdog": Actor("select reaper.reset_stuck('0')")}
    assert not problems(interleave(database, ALONE, actors))
    without(database, function="return_batch", replace="v_returned.busy_codes = '{}'", by="true")
    assert "every marked row is in a batch: a" in problems(interleave(database, ALONE, actors))


def test_a_watchdog_that_waits_for_held_rows_is_found_out(database: ExploredDatabase) -> None:
    actors = {"writer": HELD, "watchdog": Actor("select reaper.reset_stuck('0')")}
    assert not interleave(database, ALONE, actors).waits("watchdog1")
    without(database, function="return_rows", replace="for update skip locked", by="for update")
    assert interleave(database, ALONE, actors).waits("watchdog1")


def test_contents_that_are_locked_in_another_order_end_in_a_deadlock(database: ExploredDatabase) -> None:
    """A drop that has to wait, beside an application that locks the same contents in hash order."""
    start = StartState(due={"a": "g", "b": "h"}, claimed={"batch": 2})
    actors = {
        "holder": Actor(begin("select from content where content_hash = 'g' for update"), "commit"),
        "writer": Actor(begin(BOTH), "commit"),
        "worker": Actor(begin(drop("batch")), "commit"),
    }

    def look() -> Exploration:
        order = "holder1 (writer1 waits) (worker1 waits) holder2"
        return explore(database.connect, actors, reset=start.reset, only=order)

    assert not look().deadlocks
    without(database, function="lock_contents", replace="for update) as l", by="desc for update) as l")
    assert look().deadlocks


def test_a_batch_that_two_settle_at_once_without_its_lock_is_found_out(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, released=("batch",))
    actors = {"one": Actor(begin(finish("batch")), "commit"), "two": Actor(finish("batch"))}
    assert not problems(interleave(database, start, actors))
    without(
        database,
        function="lock_batch",
        replace="p_batch_id for update",
        by="p_batch_id",
    )
    assert "releases are written down" in problems(interleave(database, start, actors))


def test_a_guard_that_believes_an_old_snapshot_is_found_out(database: ExploredDatabase) -> None:
    """A writer whose snapshot is older than the retirement of a name does not see it."""
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, legacy=True)
    insert = "insert into content (content_hash, ref_count) values ('h', 0)"
    writer = Actor(begin("select 1"), insert, "commit", isolation="repeatable read")
    actors = {"writer": writer, "worker": dropper("batch")}
    assert not problems(interleave(database, start, actors))
    without(
        database,
        function="require_free_key",
        replace="if not v_sees_all",
        by="if false",
    )
    assert "no live object is to be deleted: h" in problems(interleave(database, start, actors))
