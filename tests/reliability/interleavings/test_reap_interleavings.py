"""A reap beside each of those who may meet it, in every order of their statements."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support.interleavings.actors import Connection, Memory
from tests.support.interleavings.explorer import Actor, Run, explore
from tests.support.interleavings.put_scenes import DELETE, EXTEND, commit, readable, upload_and_commit
from tests.support.interleavings.reap_scenes import (
    HELD,
    beside_reap,
    finish_held,
    nothing_is_left,
    reap,
    reap_until_nothing,
    reaped,
    reaper,
    without_paste_locks,
)
from tests.support.interleavings.scenes import (
    ADOPT,
    RESET,
    ExploredDatabase,
    Judge,
    StartState,
    begin,
    claim,
    codes,
    committed,
    drop,
    finish,
    values,
)

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)

INSERT = (
    "insert into pastes (short_code, content_hash, expires_at) values ('new', 'h', now() + interval '1 day')"
)
ADD = "update content set ref_count = ref_count + 1 where content_hash = 'h'"
SUBTRACT = "update content set ref_count = ref_count - 1 where content_hash = 'h'"
CREATE_OR_ADD = (
    "insert into content (content_hash, object_key, ref_count) values ('h', 'h/second', 1)"
    " on conflict (content_hash) do update set ref_count = content.ref_count + 1"
)
LATER = "update pastes set expires_at = now() + interval '1 day' where short_code = 'a'"
LOCK = "select from content where content_hash = 'h' for update"

STARTS = {
    "alone": StartState(due={"a": "h"}),
    "twice": StartState(due={"a": "h", "c": "h"}),
    "shared": StartState(due={"c": "g", "a": "h"}, live={"b": "h"}),
}


def no_judge(_conn: Connection, _run: Run) -> list[str]:
    return []


def new_paste_stands(conn: Connection, run: Run) -> list[str]:
    """A paste whose transaction committed is readable; another is not."""
    there = readable(conn, "new")
    return [] if there is committed(run, "other") else [f"the new paste is {'there' if there else 'lost'}"]


def extension_stands(conn: Connection, run: Run) -> list[str]:
    """Who was told that the paste is extended finds it."""
    told = [event.outcome.value for event in run.events if event.outcome and "set expires" in event.text]
    told += [event.outcome.value for event in run.events if event.outcome and "extend_paste" in event.text]
    extended = committed(run, "other") and told[0] in (1, [(True,)])
    return ["the extended paste is lost"] if extended and "a" not in codes(conn) else []


def is_made(conn: Connection, _run: Run) -> list[str]:
    return [] if readable(conn, "new") else ["the new paste is lost"]


def delete_first(conn: Connection, memory: Memory) -> int:
    conn.execute("begin")
    memory["deleted"] = conn.execute("delete from pastes where short_code = 'a'").rowcount
    return int(memory["deleted"])


def subtract_what_was_deleted(conn: Connection, memory: Memory) -> int:
    return conn.execute(SUBTRACT).rowcount if memory["deleted"] else 0


def delete_or_give_up(conn: Connection, _memory: Memory) -> int:
    """An application that has subtracted before it learns that the row is gone takes it back."""
    deleted = conn.execute("delete from pastes where short_code = 'a'").rowcount
    if not deleted:
        conn.execute("rollback")
    return deleted


def drop_claimed(conn: Connection, memory: Memory) -> Any:
    """Drop what was claimed, if anything was."""
    conn.execute("begin")
    return memory["batch_id"] and drop_now(conn, memory)


def drop_now(conn: Connection, memory: Memory) -> int:
    return conn.execute(drop(), memory).rowcount


@dataclass(frozen=True)
class Other:
    """Somebody beside a reap, what must be there first, and what must be true in the end."""

    actor: Actor
    judge: Judge = no_judge
    start: dict[str, Any] = field(default_factory=dict)
    allow: tuple[str, ...] = ()


BELATED = ("23503",)
OTHERS = {
    "insert first": Other(Actor(begin(INSERT), ADD, "commit"), new_paste_stands, allow=BELATED),
    "count first": Other(Actor(begin(ADD), INSERT, "commit"), new_paste_stands, allow=BELATED),
    "create or add": Other(Actor(begin(CREATE_OR_ADD), INSERT, "commit"), new_paste_stands),
    "insert taken back": Other(Actor(begin(INSERT), ADD, "rollback"), allow=BELATED),
    "extend": Other(Actor(begin(LATER), "commit"), extension_stands),
    "lock content, then extend": Other(Actor(begin(LOCK), LATER, "commit"), extension_stands),
    "extend, then lock content": Other(Actor(begin(LATER), LOCK, "commit"), extension_stands),
    "delete first": Other(Actor(delete_first, subtract_what_was_deleted, "commit")),
    "subtract first": Other(Actor(begin(SUBTRACT), delete_or_give_up, "commit")),
    "extend at the door": Other(Actor(begin(EXTEND), "commit"), extension_stands),
    "delete at the door": Other(Actor(begin(DELETE), "commit")),
    "put": Other(Actor(begin(commit("new")), "commit"), new_paste_stands, {"begun": {"new": "h"}}),
    "put without bytes": Other(
        Actor(begin(commit("new", uploaded=False)), "commit", upload_and_commit),
        is_made,
        {"begun": {"new": "h"}},
        ("RP002",),
    ),
    "reap": Other(reaper()),
    "reap taken back": Other(reaper(end="rollback")),
    "claim and drop": Other(Actor(begin(claim("other", 10)), "commit", drop_claimed, "commit")),
    "drop": Other(Actor(begin(drop("batch")), "commit"), start={"claimed": {"batch": 1}}),
    "drop taken back": Other(Actor(begin(drop("batch")), "rollback"), start={"claimed": {"batch": 1}}),
    "return": Other(
        Actor(begin("select reaper.return_batch(%(batch)s)"), "commit"), start={"claimed": {"batch": 1}}
    ),
    "claim of what a drop left": Other(
        Actor(begin(claim("other", 10)), "commit"), start={"claimed": {"busy": 1}, "left": ("busy",)}
    ),
    "watchdog": Other(Actor(begin(RESET), "commit"), start={"claimed": {"batch": 1}, "later": "3 hours"}),
    "adopter": Other(
        Actor(begin(ADOPT), "commit", finish("adopted")),
        start={"claimed": {"batch": 1}, "released": ("batch",), "orphaned": True},
    ),
    "watchdog, then adopter": Other(
        Actor(begin(RESET), "commit", ADOPT),
        start={"claimed": {"batch": 1}, "released": ("batch",), "later": "3 hours"},
    ),
}


@pytest.mark.slow(but=20)
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_reap_beside_anybody_loses_nothing_and_waits_with_no_paste_in_its_hands(
    database: ExploredDatabase, other: Other, start: StartState
) -> None:
    actors = {"reaper": reaper(), "other": other.actor}
    result = beside_reap(database, replace(start, **other.start), actors, other.judge)
    assert database.explored(result.assert_clean(allow={HELD, *other.allow})) >= 4


def test_a_writer_that_takes_content_then_paste_makes_a_reap_wait_and_meets_no_deadlock(
    database: ExploredDatabase,
) -> None:
    actors = {"reaper": reaper(), "other": Actor(begin(LOCK), LATER, "commit")}
    result = beside_reap(database, STARTS["alone"], actors, extension_stands).assert_clean()
    database.explored(result)
    assert result.waits("reaper1"), "the content is waited for"
    assert reaped(result) == {None, 1}


def test_a_paste_that_a_session_holds_is_named_instead_of_nothing(database: ExploredDatabase) -> None:
    holder = Actor(begin("select from pastes where short_code = 'a' for update"), "commit")
    result = beside_reap(database, STARTS["alone"], {"reaper": reaper(), "holder": holder})
    database.explored(result.assert_clean(allow={HELD}))
    assert result.errors(HELD)
    assert not result.waits("reaper1")
    assert all("a" in run.outcomes["reaper1"].message for run in result.errors(HELD))


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_reap_that_finds_all_in_the_hands_of_another_waits_to_see_how_it_ends(
    database: ExploredDatabase, end: str
) -> None:
    actors = {"reaper": reaper(), "first": reaper(end=end)}
    result = beside_reap(database, STARTS["twice"], actors).assert_clean()
    database.explored(result)
    assert result.waits("reaper1")
    assert reaped(result) == ({None, 2} if end == "commit" else {2})


def test_two_reaps_of_different_content_do_not_wait_for_each_other(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "g", "b": "h", "c": "i", "d": "k"})
    actors = {"reaper": reaper(2), "second": reaper(2)}
    result = beside_reap(database, start, actors).assert_clean()
    database.explored(result)
    assert not any(run.waited for run in result.runs)
    assert reaped(result) == reaped(result, "second1") == {2}


def claim_until_nothing(conn: Connection, memory: Memory) -> None:
    """Settle what was dropped, then the loop of a client that marks."""
    finish_held(conn, memory)
    while batches := values(conn, "select batch_id from reaper.claim_expired(2, 'marker')"):
        conn.execute("select from reaper.drop_references(%s)", batches)
        conn.execute("select from reaper.finish_batch(%s, '[]')", batches)


def finish_and_reap_until_nothing(conn: Connection, memory: Memory) -> None:
    finish_held(conn, memory)
    reap_until_nothing(2)(conn, memory)


def test_a_loop_of_reaps_and_a_loop_of_claims_on_shared_content_end_with_nothing_due_and_nothing_marked(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "g", "b": "h", "c": "h", "d": "g", "e": "h"}, live={"z": "g"})
    actors = {
        "reaper": Actor(reap(2), "commit", finish_and_reap_until_nothing),
        "marker": Actor(claim("marker", 2), drop_claimed, "commit", claim_until_nothing),
    }
    result = explore(
        database.connect, actors, reset=start.reset, check=without_paste_locks, at_end=nothing_is_left
    )
    assert database.explored(result.assert_clean()) >= 10
    assert result.waits("reaper1")


def test_two_loops_of_reaps_and_rows_that_a_drop_left_end_with_nothing_due_and_nothing_marked(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h", "b": "g", "c": "h"}, claimed={"busy": 2}, left=("busy",))
    actors = {
        "reaper": Actor(reap(1), "commit", finish_and_reap_until_nothing),
        "second": Actor(reap(1), "commit", finish_and_reap_until_nothing),
    }
    result = explore(
        database.connect, actors, reset=start.reset, check=without_paste_locks, at_end=nothing_is_left
    )
    assert database.explored(result.assert_clean()) >= 6


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_a_reap_outside_read_committed_is_refused_and_changes_nothing(
    database: ExploredDatabase, isolation: str
) -> None:
    actors = {
        "reaper": Actor(reap(), "commit", isolation=isolation),
        "other": Actor(begin(INSERT), ADD, "commit"),
    }
    result = beside_reap(database, STARTS["alone"], actors).assert_clean(allow={"RP006"})
    assert len(result.errors("RP006")) == database.explored(result) == 10


def test_rows_that_a_drop_left_are_reaped_without_waiting_for_any_of_them(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "g"}, claimed={"busy": 2}, left=("busy",))
    actors = {"reaper": reaper(), "holder": Actor(begin(LOCK), "commit")}
    result = beside_reap(database, start, actors).assert_clean()
    database.explored(result)
    assert reaped(result) == {1, 2}
    assert not result.waits("reaper1")
