"""A worker that drops its batch against an application's plain SQL, in every order of their statements."""

import pytest

from tests.support.interleavings.actors import Connection, Memory
from tests.support.interleavings.explorer import Actor, Exploration, Run
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    codes,
    committed,
    dropper,
    has_expired,
    interleave,
)

ISOLATIONS = pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
# What an application must expect of any writer beside it: its content is gone, or its snapshot is old.
BELATED = {"23503", "40001"}

STARTS = pytest.mark.parametrize(
    "start",
    [
        pytest.param(StartState(due={"a": "h"}, claimed={"batch": 1}), id="alone"),
        pytest.param(StartState(due={"a": "h"}, live={"b": "h"}, claimed={"batch": 1}), id="shared"),
        pytest.param(
            StartState(due={"c": "g", "a": "h"}, live={"b": "h"}, claimed={"batch": 2}), id="two hashes"
        ),
        pytest.param(StartState(due={"a": "h", "c": "h"}, claimed={"batch": 2}), id="twice in the batch"),
    ],
)

LOOK = "select content_hash from content"
INSERT = (
    "insert into pastes (short_code, content_hash, expires_at) values ('new', 'h', now() + interval '1 day')"
)
ADD = "update content set ref_count = ref_count + 1 where content_hash = 'h'"
SUBTRACT = "update content set ref_count = ref_count - 1 where content_hash = 'h'"
DELETE = "delete from pastes where short_code = 'a'"
CREATE_OR_ADD = (
    "insert into content (content_hash, object_key, ref_count) values ('h', 'h/second', 1)"
    " on conflict (content_hash) do update set ref_count = content.ref_count + 1"
)

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def new_paste_stands(conn: Connection, run: Run) -> list[str]:
    """A paste whose transaction committed is there; another is not."""
    there = "new" in codes(conn)
    if there is committed(run, "writer"):
        return []
    return [f"the new paste is {'there' if there else 'lost'}"]


def against_drop(database: ExploredDatabase, start: StartState, writer: Actor) -> Exploration:
    return interleave(database, start, {"writer": writer, "worker": dropper("batch")}, new_paste_stands)


@pytest.mark.slow(but=4)
@STARTS
@ISOLATIONS
@pytest.mark.parametrize("order", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
def test_a_drop_never_takes_the_content_of_a_paste_that_is_being_inserted(
    database: ExploredDatabase, start: StartState, order: tuple[str, str], isolation: str
) -> None:
    writer = Actor(begin(LOOK), *order, "commit", isolation=isolation)
    result = against_drop(database, start, writer).assert_clean(allow=BELATED)
    assert database.explored(result) >= 21
    assert result.waits("worker1")
    assert result.waits("writer2")


@pytest.mark.slow(but=2)
@STARTS
@pytest.mark.parametrize("order", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
def test_a_drop_that_waited_for_an_insert_that_is_taken_back_collects_the_content(
    database: ExploredDatabase, start: StartState, order: tuple[str, str]
) -> None:
    writer = Actor(begin(LOOK), *order, "rollback")
    result = interleave(database, start, {"writer": writer, "worker": dropper("batch")}).assert_clean(
        allow=BELATED
    )
    assert database.explored(result) >= 21
    assert result.waits("worker1")


@pytest.mark.slow(but=2)
@STARTS
@ISOLATIONS
def test_content_that_a_drop_takes_is_made_anew_under_another_key(
    database: ExploredDatabase, start: StartState, isolation: str
) -> None:
    writer = Actor(begin(LOOK), CREATE_OR_ADD, INSERT, "commit", isolation=isolation)
    result = against_drop(database, start, writer).assert_clean(allow=BELATED)
    assert database.explored(result) >= 21
    assert result.waits("worker1")


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("first", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
@pytest.mark.parametrize("second", [("insert", ADD), (ADD, "insert")], ids=["insert first", "count first"])
def test_two_writers_of_one_content_and_a_drop_never_wait_in_a_circle(
    database: ExploredDatabase, first: tuple[str, str], second: tuple[str, str]
) -> None:
    start = StartState(due={"a": "h"}, live={"b": "h"}, claimed={"batch": 1})
    other = [INSERT.replace("new", "other") if step == "insert" else step for step in second]
    actors = {
        "writer": Actor(begin(first[0]), first[1], "commit"),
        "other": Actor(begin(other[0]), other[1], "commit"),
        "worker": Actor(begin("select from reaper.drop_references(%(batch)s)"), "commit"),
    }
    result = interleave(database, start, actors, new_paste_stands).assert_clean()
    assert database.explored(result) >= 30
    assert result.waits("worker1")


@pytest.mark.slow
def test_writers_of_different_contents_never_wait_in_a_circle_with_a_drop_of_both(
    database: ExploredDatabase,
) -> None:
    def on_other(text: str) -> str:
        return text.replace("'h'", "'g'").replace("new", "other")

    start = StartState(due={"a": "h", "c": "g"}, live={"b": "h", "d": "g"}, claimed={"batch": 2})
    actors = {
        "writer": Actor(begin(INSERT), ADD, "commit"),
        "other": Actor(begin(on_other(ADD)), on_other(INSERT), "commit"),
        "worker": Actor(begin("select from reaper.drop_references(%(batch)s)"), "commit"),
    }
    result = interleave(database, start, actors, new_paste_stands).assert_clean()
    assert database.explored(result) >= 80


EXTENSIONS = {
    "later": "update pastes set expires_at = now() + interval '1 day' where short_code = 'a'",
    "for ever": "update pastes set expires_at = null where short_code = 'a'",
    "later and unmarked": "update pastes set expires_at = now() + interval '1 day',"
    " deletion_status = 'NOT_EXPIRED', deletion_initiated_at = null where short_code = 'a'",
}


def extension_stands(conn: Connection, run: Run) -> list[str]:
    """A paste whose extension found its row and committed is alive; another is gone when all is settled."""
    extended = committed(run, "writer") and run.outcomes["writer1"].value == 1
    return ["the extended paste is lost"] if extended and "a" not in codes(conn) else []


@pytest.mark.slow(but=6)
@STARTS
@ISOLATIONS
@pytest.mark.parametrize("statement", EXTENSIONS.values(), ids=EXTENSIONS.keys())
def test_a_paste_that_is_extended_in_time_outlives_the_drop(
    database: ExploredDatabase, start: StartState, statement: str, isolation: str
) -> None:
    actors = {"writer": Actor(begin(statement), "commit", isolation=isolation), "worker": dropper("batch")}
    result = interleave(database, start, actors, extension_stands).assert_clean(allow={"40001"})
    assert database.explored(result) >= 7
    assert any(committed(run, "writer") and run.outcomes["writer1"].value == 1 for run in result.runs)


@pytest.mark.slow(but=2)
@STARTS
def test_an_unmarked_paste_that_is_still_due_is_collected_later(
    database: ExploredDatabase, start: StartState
) -> None:
    unmark = "update pastes set deletion_status = 'NOT_EXPIRED' where short_code = 'a'"
    actors = {"writer": Actor(begin(unmark), "commit"), "worker": dropper("batch")}
    assert database.explored(interleave(database, start, actors).assert_clean()) >= 7


def delete_or_give_up(conn: Connection, _memory: Memory) -> int:
    """An application that has subtracted before it learns that the row is gone takes it back."""
    deleted = conn.execute(DELETE).rowcount
    if not deleted:
        conn.execute("rollback")
    return deleted


def subtract_what_was_deleted(conn: Connection, memory: Memory) -> int:
    return conn.execute(SUBTRACT).rowcount if memory["deleted"] else 0


def delete_first(conn: Connection, memory: Memory) -> int:
    conn.execute("begin")
    memory["deleted"] = conn.execute(DELETE).rowcount
    return int(memory["deleted"])


USERS = {
    "delete first": Actor(delete_first, subtract_what_was_deleted, "commit"),
    "count first": Actor(begin(SUBTRACT), delete_or_give_up, "commit"),
}


@pytest.mark.slow(but=2)
@STARTS
@pytest.mark.parametrize("user", USERS.values(), ids=USERS.keys())
def test_a_user_who_deletes_a_claimed_paste_meets_no_deadlock(
    database: ExploredDatabase, start: StartState, user: Actor
) -> None:
    result = interleave(
        database, start, {"user": user, "worker": dropper("batch")}, has_expired("a")
    ).assert_clean()
    assert database.explored(result) >= 10
    assert result.waits("user1") or result.waits("user2")


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS.values(), ids=USERS.keys())
def test_a_user_who_deletes_and_one_who_inserts_meet_no_deadlock_with_a_drop(
    database: ExploredDatabase, user: Actor
) -> None:
    start = StartState(due={"a": "h", "c": "h"}, live={"b": "h"}, claimed={"batch": 2})
    actors = {
        "user": user,
        "writer": Actor(begin(INSERT), ADD, "commit"),
        "worker": Actor(begin("select from reaper.drop_references(%(batch)s)"), "commit"),
    }
    result = interleave(database, start, actors, new_paste_stands).assert_clean()
    assert database.explored(result) >= 30


LEGACY = "insert into content (content_hash, ref_count) values ('h', 1)"


@pytest.mark.slow(but=1)
@ISOLATIONS
@pytest.mark.parametrize("failed", ["'[]'", "null"], ids=["object gone", "object owed"])
@pytest.mark.parametrize("released", [(), ("batch",)], ids=["before the drop", "after the drop"])
def test_content_never_takes_a_name_whose_object_is_still_to_be_deleted(
    database: ExploredDatabase, released: tuple[str, ...], failed: str, isolation: str
) -> None:
    """RP004 while the deletion is owed, a unique violation before; never a live row under a doomed name."""
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, released=released, legacy=True)
    writer = Actor(begin(LOOK), LEGACY, INSERT, "commit", isolation=isolation)
    actors = {"writer": writer, "worker": dropper("batch", failed)}
    result = interleave(database, start, actors, new_paste_stands).assert_clean(
        allow={"RP004", "23505", "40001"}
    )
    assert database.explored(result) >= 21
    assert result.errors("RP004")
    if failed == "'[]'":
        assert any(committed(run, "writer") for run in result.runs)


@pytest.mark.slow(but=2)
@ISOLATIONS
@pytest.mark.parametrize("failed", ["'[]'", "null"], ids=["object gone", "object owed"])
def test_content_without_a_paste_does_not_take_such_a_name_either(
    database: ExploredDatabase, failed: str, isolation: str
) -> None:
    """Without the foreign key's help an old snapshot does not show that the name is retired."""
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, legacy=True)
    writer = Actor(begin(LOOK), LEGACY.replace("1)", "0)"), "commit", isolation=isolation)
    actors = {"writer": writer, "worker": dropper("batch", failed)}
    result = interleave(database, start, actors).assert_clean(allow={"RP004", "23505", "40001"})
    assert database.explored(result) >= 15
    assert result.errors("RP004")
