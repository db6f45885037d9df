"""Totals of processes beside their folding: each is in the sum once, at every instant of every order."""

from typing import Any

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, explore
from tests.support.interleavings.scenes import ExploredDatabase, begin, values

MONTH = "to_char(reaper.clock() at time zone 'UTC', 'YYYY-MM-01')"
SUM = "select coalesce(sum(requests), 0)::bigint from reaper.usage"
FOLD = "select folded from reaper.fold_usage(1000, '0')"
SNAPSHOT = "select taken_at > '-infinity' as taken from reaper.refresh_state('8 seconds')"

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def flush(*totals: int) -> str:
    """A report of processes 1, 2 and so on."""
    rows = ", ".join(
        f"jsonb_build_object('process', '00000000-0000-0000-0000-00000000000{n}', 'month', {MONTH},"
        f" 'backend', 'default', 'requests_read', {total})"
        for n, total in enumerate(totals, start=1)
    )
    return f"select rows_changed from reaper.flush_usage(gen_random_uuid(), jsonb_build_array({rows}))"


def reset(conn: Connection) -> dict[str, Any]:
    conn.execute(
        "truncate reaper.usage_processes, reaper.usage_monthly, reaper.usage_flushes;"
        " update reaper.state_snapshot set taken_at = '-infinity'"
    )
    conn.execute(flush(5))
    return {}


@pytest.mark.slow
def test_a_report_beside_a_fold_and_an_older_report_is_counted_once(database: ExploredDatabase) -> None:
    actors = {
        "process": Actor(begin(flush(8)), "commit"),
        "folder": Actor(begin(FOLD), "commit", begin(FOLD), "commit"),
        "service": Actor(begin(flush(7, 1)), "commit"),
    }

    def check(conn: Connection) -> list[str]:
        found = values(conn, SUM)[0]
        return [] if found in (5, 6, 7, 8, 9) else [f"the sum is {found}"]

    def at_end(conn: Connection, _: object) -> list[str]:
        conn.execute(FOLD)
        found, folded = values(conn, SUM)[0], values(conn, "select requests_read from reaper.usage_monthly")
        return [] if (found, folded) == (9, [9]) else [f"{found} in all, {folded} folded"]

    result = explore(database.connect, actors, reset=reset, check=check, at_end=at_end)
    assert database.explored(result.assert_clean()) >= 200


def test_two_that_fold_and_two_that_flush_the_same_never_wait_in_a_circle(database: ExploredDatabase) -> None:
    actors = {
        "one": Actor(begin(flush(6, 6)), "commit"),
        "two": Actor(begin(flush(7, 7)), "commit"),
        "folder": Actor(begin(FOLD), "rollback"),
    }

    def at_end(conn: Connection, _: object) -> list[str]:
        return [] if values(conn, SUM) == [14] else [f"the sum is {values(conn, SUM)}"]

    result = explore(database.connect, actors, reset=reset, check=lambda _: [], at_end=at_end)
    result.assert_clean()
    assert not result.waits("folder1"), "rows that others hold are folded another time"


def test_of_two_that_want_the_state_neither_waits(database: ExploredDatabase) -> None:
    actors = {
        "one": Actor(begin(SNAPSHOT), "commit"),
        "two": Actor(begin(SNAPSHOT), "commit"),
    }
    result = explore(database.connect, actors, reset=reset, check=lambda _: [], at_end=lambda *_: [])
    result.assert_clean()
    assert not result.waits("one1")
    assert not result.waits("two1")
