"""A worker that drops its batch against an application's plain SQL, in every order of their statements."""

import pytest

from tests.support.interleavings.actors import Connection, Memory
from tests.support.interleavings.explorer import Actor, Exploration, Run
from tests.support.interleavings.scenes import (
    Stage,
    World,
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

WORLDS = pytest.mark.parametrize(
    "world",
    [
        pytest.param(World(due={"a": "h"}, claimed={"batch": 1}), id="alone"),
        pytest.param(World(due={"a": "h"}, live={"b": "h"}, claimed={"batch": 1}), id="shared"),
        pytest.param(World(due={"c": "g", "a": "h"}, live={"b": "h"}, claimed={"batch": 2}), id="two hashes"),
        pytest.param(World(due={"a": "h", "c": "h"}, claimed={"batch": 2}), id="twice in the batch"),
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


def against_drop(stage: Stage, world: World, writer: Actor) -> Exploration:
    return interleave(stage, world, {"writer": writer, "worker": dropper("batch")}, new_paste_stands)


@WORLDS
@ISOLATIONS
@pytest.mark.parametrize("order", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
def test_a_drop_never_takes_the_content_of_a_paste_that_is_being_inserted(
    stage: Stage, world: World, order: tuple[str, str], isolation: str
) -> None:
    writer = Actor(begin(LOOK), *order, "commit", isolation=isolation)
    result = against_drop(stage, world, writer).assert_clean(allow=BELATED)
    assert stage.explored(result) >= 21
    assert result.waits("worker1")
    assert result.waits("writer2")


@WORLDS
@pytest.mark.parametrize("order", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
def test_a_drop_that_waited_for_an_insert_that_is_taken_back_collects_the_content(
    stage: Stage, world: World, order: tuple[str, str]
) -> None:
    writer = Actor(begin(LOOK), *order, "rollback")
    result = interleave(stage, world, {"writer": writer, "worker": dropper("batch")}).assert_clean(
        allow=BELATED
    )
    assert stage.explored(result) >= 21
    assert result.waits("worker1")


@WORLDS
@ISOLATIONS
def test_content_that_a_drop_takes_is_made_anew_under_another_key(
    stage: Stage, world: World, isolation: str
) -> None:
    writer = Actor(begin(LOOK), CREATE_OR_ADD, INSERT, "commit", isolation=isolation)
    result = against_drop(stage, world, writer).assert_clean(allow=BELATED)
    assert stage.explored(result) >= 21
    assert result.waits("worker1")


@pytest.mark.parametrize("first", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
@pytest.mark.parametrize("second", [("insert", ADD), (ADD, "insert")], ids=["insert first", "count first"])
def test_two_writers_of_one_content_and_a_drop_never_wait_in_a_circle(
    stage: Stage, first: tuple[str, str], second: tuple[str, str]
) -> None:
    world = World(due={"a": "h"}, live={"b": "h"}, claimed={"batch": 1})
    other = [INSERT.replace("new", "other") if step == "insert" else step for step in second]
    actors = {
        "writer": Actor(begin(first[0]), first[1], "commit"),
        "other": Actor(begin(other[0]), other[1], "commit"),
        "worker": Actor(begin("select from reaper.drop_references(%(batch)s)"), "commit"),
    }
    result = interleave(stage, world, actors, new_paste_stands).assert_clean()
    assert stage.explored(result) >= 30
    assert result.waits("worker1")


def test_writers_of_different_contents_never_wait_in_a_circle_with_a_drop_of_both(stage: Stage) -> None:
    def on_other(text: str) -> str:
        return text.replace("'h'", "'g'").replace("new", "other")

    world = World(due={"a": "h", "c": "g"}, live={"b": "h", "d": "g"}, claimed={"batch": 2})
    actors = {
        "writer": Actor(begin(INSERT), ADD, "commit"),
        "other": Actor(begin(on_other(ADD)), on_other(INSERT), "commit"),
        "worker": Actor(begin("select from reaper.drop_references(%(batch)s)"), "commit"),
    }
    result = interleave(stage, world, actors, new_paste_stands).assert_clean()
    assert stage.explored(result) >= 80


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


@WORLDS
@ISOLATIONS
@pytest.mark.parametrize("statement", EXTENSIONS.values(), ids=EXTENSIONS.keys())
def test_a_paste_that_is_extended_in_time_outlives_the_drop(
    stage: Stage, world: World, statement: str, isolation: str
) -> None:
    actors = {"writer": Actor(begin(statement), "commit", isolation=isolation), "worker": dropper("batch")}
    result = interleave(stage, world, actors, extension_stands).assert_clean(allow={"40001"})
    assert stage.explored(result) >= 7
    assert any(committed(run, "writer") and run.outcomes["writer1"].value == 1 for run in result.runs)


@WORLDS
def test_an_unmarked_paste_that_is_still_due_is_collected_later(stage: Stage, world: World) -> None:
    unmark = "update pastes set deletion_status = 'NOT_EXPIRED' where short_code = 'a'"
    actors = {"writer": Actor(begin(unmark), "commit"), "worker": dropper("batch")}
    assert stage.explored(interleave(stage, world, actors).assert_clean()) >= 7


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


@WORLDS
@pytest.mark.parametrize("user", USERS.values(), ids=USERS.keys())
def test_a_user_who_deletes_a_claimed_paste_meets_no_deadlock(
    stage: Stage, world: World, user: Actor
) -> None:
    result = interleave(
        stage, world, {"user": user, "worker": dropper("batch")}, has_expired("a")
    ).assert_clean()
    assert stage.explored(result) >= 10
    assert result.waits("user1") or result.waits("user2")


@pytest.mark.parametrize("user", USERS.values(), ids=USERS.keys())
def test_a_user_who_deletes_and_one_who_inserts_meet_no_deadlock_with_a_drop(
    stage: Stage, user: Actor
) -> None:
    world = World(due={"a": "h", "c": "h"}, live={"b": "h"}, claimed={"batch": 2})
    actors = {
        "user": user,
        "writer": Actor(begin(INSERT), ADD, "commit"),
        "worker": Actor(begin("select from reaper.drop_references(%(batch)s)"), "commit"),
    }
    result = interleave(stage, world, actors, new_paste_stands).assert_clean()
    assert stage.explored(result) >= 30


LEGACY = "insert into content (content_hash, ref_count) values ('h', 1)"


@ISOLATIONS
@pytest.mark.parametrize("failed", ["'[]'", "null"], ids=["object gone", "object owed"])
@pytest.mark.parametrize("released", [(), ("batch",)], ids=["before the drop", "after the drop"])
def test_content_never_takes_a_name_whose_object_is_still_to_be_deleted(
    stage: Stage, released: tuple[str, ...], failed: str, isolation: str
) -> None:
    """RP004 while the deletion is owed, a unique violation before; never a live row under a doomed name."""
    world = World(due={"a": "h"}, claimed={"batch": 1}, released=released, legacy=True)
    writer = Actor(begin(LOOK), LEGACY, INSERT, "commit", isolation=isolation)
    actors = {"writer": writer, "worker": dropper("batch", failed)}
    result = interleave(stage, world, actors, new_paste_stands).assert_clean(
        allow={"RP004", "23505", "40001"}
    )
    assert stage.explored(result) >= 21
    assert result.errors("RP004")
    if failed == "'[]'":
        assert any(committed(run, "writer") for run in result.runs)


@ISOLATIONS
@pytest.mark.parametrize("failed", ["'[]'", "null"], ids=["object gone", "object owed"])
def test_content_without_a_paste_does_not_take_such_a_name_either(
    stage: Stage, failed: str, isolation: str
) -> None:
    """Without the foreign key's help an old snapshot does not show that the name is retired."""
    world = World(due={"a": "h"}, claimed={"batch": 1}, legacy=True)
    writer = Actor(begin(LOOK), LEGACY.replace("1)", "0)"), "commit", isolation=isolation)
    actors = {"writer": writer, "worker": dropper("batch", failed)}
    result = interleave(stage, world, actors).assert_clean(allow={"RP004", "23505", "40001"})
    assert stage.explored(result) >= 15
    assert result.errors("RP004")
