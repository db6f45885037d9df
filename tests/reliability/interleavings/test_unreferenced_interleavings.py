"""Collecting content that no paste names, beside those who name it, in every order of their statements."""

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Exploration, Run
from tests.support.interleavings.put_scenes import commit, is_kept, is_there, upload_and_commit
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    codes,
    committed,
    dropper,
    interleave,
    values,
)

COLLECT = "select collected, refused from reaper.collect_unreferenced(10, '1 minute')"
COLLECTOR = Actor(begin(COLLECT), "commit")
INSERT = "insert into pastes (short_code, content_hash) values ('new', 'h')"
ADD = "update content set ref_count = ref_count + 1 where content_hash = 'h'"
# Its content is gone, or its snapshot is old: what an application must expect of any writer beside it.
BELATED = {"23503", "40001"}

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def collected(result: Exploration, step: str = "collector1") -> set[int]:
    """How many contents went, over all orders."""
    return {run.outcomes[step].value[0][0] for run in result.runs}


def new_paste_stands(conn: Connection, run: Run) -> list[str]:
    """A paste whose transaction committed is there, with its content; another is not."""
    there = "new" in codes(conn)
    return [] if there is committed(run, "writer") else [f"the new paste is {'there' if there else 'lost'}"]


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("copied", [(), ("h",)], ids=["theirs", "ours"])
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
@pytest.mark.parametrize("order", [(INSERT, ADD), (ADD, INSERT)], ids=["insert first", "count first"])
def test_content_is_not_collected_from_a_paste_that_is_being_inserted(
    database: ExploredDatabase, order: tuple[str, str], isolation: str, copied: tuple[str, ...]
) -> None:
    writer = Actor(begin(order[0]), order[1], "commit", isolation=isolation)
    start = StartState(unnamed=("g", "h"), copied=copied)
    result = interleave(database, start, {"writer": writer, "collector": COLLECTOR}, new_paste_stands)
    result.assert_clean(allow=BELATED)
    assert database.explored(result) >= 7
    assert collected(result) == {1, 2}
    assert not result.waits("collector1"), "a writer is never waited for"


def test_a_commit_at_the_door_finds_its_content_or_makes_it_anew(database: ExploredDatabase) -> None:
    start = StartState(unnamed=("h",), copied=("h",), begun={"new": "h"})
    actors = {"writer": Actor(begin(commit("new")), "commit"), "collector": COLLECTOR}
    result = interleave(database, start, actors, is_kept("new")).assert_clean()
    assert database.explored(result) >= 5
    assert collected(result) == {0, 1}


def test_who_counted_on_the_content_is_told_when_its_bytes_are_needed(database: ExploredDatabase) -> None:
    start = StartState(unnamed=("h",), begun={"new": "h"})
    writer = Actor(begin(commit("new", uploaded=False)), "commit", upload_and_commit)
    result = interleave(database, start, {"writer": writer, "collector": COLLECTOR}, is_there)
    assert result.assert_clean(allow={"RP002"}).errors("RP002")


@pytest.mark.slow
def test_content_goes_once_whoever_lets_it_go(database: ExploredDatabase) -> None:
    """The drop of its last paste, a user's own delete, and two who collect."""
    start = StartState(
        due={"a": "h"}, unnamed=("g",), copied=("g", "h"), claimed={"batch": 1}, later="1 hour"
    )
    actors = {"worker": dropper("batch"), "collector": COLLECTOR, "second": Actor(COLLECT)}
    result = interleave(database, start, actors).assert_clean()
    assert database.explored(result) >= 30


def test_a_collection_that_is_taken_back_takes_nothing(database: ExploredDatabase) -> None:
    start = StartState(unnamed=("h",), copied=("h",))
    writer = Actor(begin(INSERT), ADD, "commit")
    actors = {"writer": writer, "collector": Actor(begin(COLLECT), "rollback")}

    def judge(conn: Connection, run: Run) -> list[str]:
        left = values(conn, "select content_hash from content")
        return new_paste_stands(conn, run) + ([] if left == ["h"] else ["the content is lost"])

    interleave(database, start, actors, judge).assert_clean(allow=BELATED)
