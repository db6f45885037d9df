"""Those who try owed deletions again, late ones among them, and a writer of that content, in every order."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Exploration, Run, explore
from tests.support.interleavings.put_scenes import commit, readable
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    committed,
    settle,
    values,
    violations,
)

CLAIM = "select lease from reaper.claim_cleanup(10)"
FINISH = "select reaper.finish_cleanup(%(lease)s, '[]') as gone"
LATE = "select reaper.finish_cleanup(%(late)s, '[]') as gone"
REFUSED = """
    select reaper.finish_batch(%s, jsonb_build_array(jsonb_build_object(
        'backend', 'default', 'object_key', 'h/first', 'error', 'SlowDown',
        'permanent', false, 'outage', false)))
"""
OWED_ENTRIES = """
    delete from reaper.invalidations;
    insert into reaper.invalidations (short_code, queued_at, next_attempt)
    select code, reaper.clock(), reaper.clock() from unnest(array['a', 'b']) as code
"""
CLAIM_ENTRIES = "select lease from reaper.claim_invalidations(10)"
BOTH_FAILED = """
    select reaper.finish_invalidations(%(first)s, '[{"short_code": "a", "error": "away"},
                                                    {"short_code": "b", "error": "away"}]')
"""
OWED_AGAIN = "select reaper_internal.enqueue_invalidation('a', reaper.clock())"
ENTRY_DELETED = "select reaper.finish_invalidations(%(lease)s, '[]')"
LATER = "update reaper.settings set clock_offset = clock_offset + interval '1 hour'"
START = StartState(due={"a": "h"}, claimed={"one": 1}, released=("one",), copied=("h",), begun={"new": "h"})

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def owed(conn: Connection) -> dict[str, Any]:
    """An object that the store refused to delete is due for another try."""
    memory = START.reset(conn)
    conn.execute(REFUSED, [memory["one"]])
    conn.execute(LATER)
    return memory


def leased(conn: Connection) -> dict[str, Any]:
    """Somebody leased it and has not been heard of since."""
    memory = owed(conn)
    memory["late"] = values(conn, CLAIM)[0]
    conn.execute(LATER)
    return memory


def settled_once(conn: Connection, run: Run) -> Iterable[str]:
    """One of them said that it is gone, and it is owed no more; the account has no bytes of it."""
    gone = [o.value[0][0] for o in run.outcomes.values() if isinstance(o.value, list) and o.value]
    gone = [number for number in gone if isinstance(number, int)]
    if sum(gone) != 1:
        yield f"settled {gone}"
    if values(conn, "select object_key from reaper.cleanup_queue where object_key = 'h/first'"):
        yield "it is still owed"
    if values(conn, "select orphan_bytes from reaper.backends")[0]:
        yield "its bytes still count"


def cleaned(database: ExploredDatabase, actors: dict[str, Actor], reset: Any) -> Exploration:
    def at_end(conn: Connection, run: Run) -> list[str]:
        found = settled_once(conn, run)
        return [*found, *settle(conn)]

    return explore(database.connect, actors, reset=reset, check=violations, at_end=at_end)


def cleaner() -> Actor:
    return Actor(begin(CLAIM), "commit", begin(FINISH), "commit")


def test_of_two_cleaners_one_gets_the_object_and_settles_it(database: ExploredDatabase) -> None:
    result = cleaned(database, {"one": cleaner(), "two": cleaner()}, owed).assert_clean(allow={"RP001"})
    assert database.explored(result) >= 10


def test_a_late_cleaner_or_the_next_one_settles_an_object_never_both(database: ExploredDatabase) -> None:
    actors = {"late": Actor(begin(LATE), "commit"), "next": cleaner()}
    result = cleaned(database, actors, leased).assert_clean(allow={"RP001"})
    assert database.explored(result) >= 10
    assert result.errors("RP001")


def test_a_cleaner_never_takes_the_bytes_of_content_that_is_created_meanwhile(
    database: ExploredDatabase,
) -> None:
    actors = {"writer": Actor(begin(commit("new")), "commit"), "cleaner": cleaner()}

    def at_end(conn: Connection, run: Run) -> list[str]:
        lost = [] if readable(conn, "new") is committed(run, "writer") else ["new is lost"]
        named = values(conn, "select object_key from public.content where object_key = 'h/first'")
        return [*lost, *settled_once(conn, run), *settle(conn), *(f"{key} is used again" for key in named)]

    result = explore(database.connect, actors, reset=owed, check=violations, at_end=at_end)
    assert database.explored(result.assert_clean()) >= 10


def leased_entries(conn: Connection) -> dict[str, Any]:
    """One worker leased two cache entries and could not delete them."""
    memory = START.reset(conn)
    conn.execute(OWED_ENTRIES)
    return memory | {"first": values(conn, CLAIM_ENTRIES)[0]}


@pytest.mark.slow
def test_a_failed_cache_entry_that_is_owed_again_or_deleted_meanwhile_is_no_wrong_report(
    database: ExploredDatabase,
) -> None:
    def at_end(conn: Connection, _: Run) -> Iterable[str]:
        if "b" not in values(conn, "select short_code from reaper.invalidations"):
            yield "an entry that was not deleted is forgotten"

    actors = {
        "first": Actor(begin(BOTH_FAILED), "commit"),
        "writer": Actor(begin(OWED_AGAIN), "commit"),
        "second": Actor(begin(CLAIM_ENTRIES), "commit", begin(ENTRY_DELETED), "commit"),
    }
    result = explore(database.connect, actors, reset=leased_entries, at_end=at_end).assert_clean(
        allow={"RP001"}
    )
    assert database.explored(result) >= 50
    assert result.errors("RP001")
