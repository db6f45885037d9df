"""Byte accounts beside everybody who changes and folds them: right after every step of every order."""

import pytest

from tests.support.interleavings.explorer import Actor
from tests.support.interleavings.put_scenes import commit
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    dropper,
    interleave,
    values,
)

FOLD = "select reaper.fold_accounts() as folded"
REPAIR = "select count(*) as repaired from reaper.repair_accounts()"
START = StartState(
    due={"a": "h"}, live={"b": "g"}, claimed={"batch": 1}, begun={"new": "i"}, copied=("g", "h")
)

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


@pytest.mark.slow
def test_accounts_are_folded_beside_a_drop_and_a_put(database: ExploredDatabase) -> None:
    actors = {
        "worker": dropper("batch"),
        "writer": Actor(begin(commit("new")), "commit"),
        "folder": Actor(begin(FOLD), "commit"),
    }
    result = interleave(database, START, actors).assert_clean()
    assert database.explored(result) >= 200
    for step in ("worker1", "writer1", "folder1"):
        assert not result.waits(step), "nobody waits for an account"


@pytest.mark.slow
def test_of_two_that_fold_neither_waits_and_no_byte_is_lost(database: ExploredDatabase) -> None:
    actors = {
        "worker": dropper("batch"),
        "folder": Actor(begin(FOLD), "commit"),
        "second": Actor(begin(FOLD), "rollback"),
    }
    result = interleave(database, START, actors).assert_clean()
    assert not result.waits("folder1")
    assert not result.waits("second1")


def test_a_repair_finds_nothing_wrong_with_work_that_is_under_way(database: ExploredDatabase) -> None:
    actors = {
        "worker": dropper("batch", failed="null"),
        "folder": Actor(begin(FOLD), "commit"),
        "repairer": Actor(REPAIR),
    }
    result = interleave(database, START, actors).assert_clean()
    assert {run.outcomes["repairer1"].value[0][0] for run in result.runs} == {0}
    assert values(database.conn, "select count(*) from reaper.cleanup_queue") == [1]
