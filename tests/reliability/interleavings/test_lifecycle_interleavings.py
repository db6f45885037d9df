"""A lifecycle rule beside those who overwrite, extend and release its pastes, in every order."""

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    codes,
    committed,
    dropper,
    interleave,
)

APPLY = "select expired, skipped from reaper.apply_lifecycle_rule('old', 10)"
APPLIER = Actor(begin(APPLY), "commit")
OVERWRITE = """
update pastes set created_at = reaper.clock(), expires_at = null, deletion_status = 'NOT_EXPIRED'
 where short_code = 'old-a'
"""
EXTEND = "select reaper.extend_paste('old-a', null)"
PREPARE = """
create index pastes_created on public.pastes (created_at, short_code);
select reaper.add_lifecycle_rule('old', 'old-', p_expiration_days => 30, p_enabled => true);
alter function reaper.apply_lifecycle_rule(text, integer) set lock_timeout = 0;
"""

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


@pytest.fixture
def aged(database: ExploredDatabase) -> ExploredDatabase:
    """One with a rule, and a clock by which all pastes are old."""
    database.conn.execute(PREPARE)
    return database


def kept(conn: Connection, run: Run, change: str) -> list[str]:
    """What was written or extended stands, and what nobody touched is gone."""
    there = codes(conn)
    order = [event.label for event in run.events]
    # The rule is about the creation: what was extended before a pass becomes due all the same.
    counts = change == OVERWRITE or order.index("applier1") < order.index("writer2")
    changed = committed(run, "writer") and counts
    lost = ["what was changed is lost"] if changed and "old-a" not in there else []
    return lost + (["old-b is still there"] if "old-b" in there else [])


@pytest.mark.parametrize("change", [OVERWRITE, EXTEND], ids=["overwritten", "extended"])
def test_what_is_changed_beside_a_pass_survives_and_the_rest_goes(
    aged: ExploredDatabase, change: str
) -> None:
    start = StartState(live={"old-a": "h", "old-b": "g"}, later="40 days")
    actors = {"writer": Actor(begin(change), "commit"), "applier": APPLIER}
    result = interleave(aged, start, actors, lambda conn, run: kept(conn, run, change)).assert_clean()
    assert aged.explored(result) >= 5
    assert not result.waits("applier1"), "a writer is never waited for"


@pytest.mark.slow
def test_two_passes_and_a_drop_of_the_same_content_end_with_all_gone(aged: ExploredDatabase) -> None:
    start = StartState(
        due={"old-c": "h"}, live={"old-a": "h", "old-b": "g"}, claimed={"batch": 1}, later="40 days"
    )
    actors = {"applier": APPLIER, "second": Actor(APPLY), "worker": dropper("batch")}
    result = interleave(
        aged, start, actors, lambda conn, _run: [f"{code} is left" for code in codes(conn)]
    ).assert_clean()
    assert aged.explored(result) >= 20
