"""The application alters or exchanges its tables beside a drop, a claim and a put, in every order."""

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run
from tests.support.interleavings.put_scenes import commit, is_kept
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    claim,
    drop,
    dropper,
    interleave,
    values,
)

# A type that it has already: PostgreSQL refuses it all the same while a view depends on the column.
ALTER = "alter table pastes alter expires_at type timestamptz"
ALTERER = Actor(begin("select reaper.unbind()"), ALTER, "select reaper.bind()", "commit")
# What PostgreSQL does in one ALTER TABLE: lock the table, then the view that depends on it, and refuse.
REFUSED = Actor(
    begin("lock table pastes in access exclusive mode"),
    "alter table pastes drop column deletion_initiated_at",
    "rollback",
)
DEPENDENT_OBJECTS = "2BP01"
RENAMER = Actor("alter table pastes rename to old_pastes", "alter table old_pastes rename to pastes")

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def content_stands(conn: Connection, _run: Run) -> list[str]:
    """Every paste has its content, and the views read the tables."""
    lost = (
        "select short_code from pastes left join content c using (content_hash) where c.content_hash is null"
    )
    bound = "select problem from reaper_internal.binding_problems()"
    return [*values(conn, lost), *values(conn, bound)]


def test_columns_are_altered_beside_a_claim_and_a_drop_without_a_deadlock(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "h", "c": "g"}, claimed={"batch": 2})
    worker = Actor(begin(drop("batch")), "commit", begin(claim("me", 5)), "commit")
    result = interleave(
        database, start, {"worker": worker, "owner": ALTERER}, content_stands, only_at_end=True
    )
    result.assert_clean()
    assert database.explored(result) >= 10
    assert result.waits("owner1"), "a drop that has begun is waited for"


def test_columns_are_altered_beside_a_put_without_a_deadlock(database: ExploredDatabase) -> None:
    start = StartState(live={"a": "h"}, copied=("h",), begun={"new": "h"})
    actors = {"writer": Actor(begin(commit("new")), "commit"), "owner": ALTERER}
    result = interleave(database, start, actors, is_kept("new"), only_at_end=True).assert_clean()
    assert database.explored(result) >= 5


def test_a_table_that_is_away_for_a_moment_loses_nothing(database: ExploredDatabase) -> None:
    """Renamed and renamed back: a drop before or after works, one between is refused and changes nothing."""
    start = StartState(due={"a": "h", "b": "g"}, claimed={"batch": 2})
    actors = {"worker": dropper("batch"), "owner": RENAMER}
    result = interleave(database, start, actors, content_stands, only_at_end=True)
    result.assert_clean(allow={"RP010", "RP001"})
    assert result.errors("RP010")


def test_a_refused_change_of_a_column_meets_no_deadlock(database: ExploredDatabase) -> None:
    """Claims and drops lock the tables before the views, as ALTER TABLE does."""
    start = StartState(due={"a": "h", "b": "h", "c": "g"}, claimed={"batch": 2})
    worker = Actor(begin(drop("batch")), "commit", begin(claim("me", 5)), "commit")
    result = interleave(
        database, start, {"worker": worker, "owner": REFUSED}, content_stands, only_at_end=True
    )
    result.assert_clean(allow={DEPENDENT_OBJECTS})
    assert result.errors(DEPENDENT_OBJECTS)
    assert database.explored(result) >= 10
