"""What a drain would do: counted exactly, page by page or at once, and estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reaper.model import START
from reaper.ops.forecast import PAGE, count_exactly
from reaper.queries import Queries
from reaper.queries.expiry import PlanPage
from tests.support.paste_fixtures import Connect, Connection, Copies, Pastes, Worker, record, value
from tests.support.query_plans import read_whole, watched

HOURS = st.sampled_from([-5, -3, -3, -1, -1, -1, 24, None])


@dataclass(frozen=True)
class Row:
    """A paste of a random population."""

    content: int
    expires: int | None
    blocked: bool


@dataclass(frozen=True)
class Population:
    """Pastes, how far the ref_counts are off, and how many rows another worker has claimed."""

    rows: list[Row]
    drift: list[int]
    claimed: int
    page: int


ROWS = st.builds(Row, st.integers(0, 5), HOURS, st.sampled_from([False] * 5 + [True]))
POPULATIONS = st.builds(
    Population,
    st.lists(ROWS, max_size=25),
    st.lists(st.sampled_from([0, 0, 0, 1, -1]), min_size=6, max_size=6),
    st.integers(0, 4),
    st.integers(1, 30),
)


def fill(db: Connection, people: Population) -> None:
    """Make the rows; every content has a size of its own."""
    now = value(db, "select reaper.clock()")
    for content in sorted({row.content for row in people.rows}):
        refs = sum(row.content == content for row in people.rows)
        db.execute(
            "insert into content (content_hash, ref_count, size_bytes) values (%s, %s, %s)",
            [f"c{content}", max(refs + people.drift[content], 0), 10**content],
        )
    for number, row in enumerate(people.rows):
        db.execute(
            "insert into pastes (short_code, content_hash, expires_at)"
            " values (%s, %s, %s + make_interval(hours => %s))",
            [f"p{number}", f"c{row.content}", now, row.expires],
        )
    for number, row in enumerate(people.rows):
        if row.blocked:
            db.execute(
                "insert into reaper.blocked values (%s, 'XX000', 'no', 1, %s, %s + interval '1 hour')",
                [f"p{number}", now, now],
            )
    if people.claimed:
        Worker(db, "another").try_claim(people.claimed)


def pages(q: Queries, limit: int) -> list[PlanPage]:
    """All pages of that size."""
    made = [q.plan_page(None, START, limit, ())]
    while made[-1].rows_due == limit:
        judged = [content for page in made for content in page.judged]
        made.append(q.plan_page(made[0].counted_at, made[-1].cursor, limit, judged))
    return made


def figures(pages: list[Any]) -> tuple[int, ...]:
    """The sums of pages, or the figures of one plan."""
    names = ("rows_due", "rows_blocked", "rows_in_progress", "objects_freed", "bytes_freed", "objects_kept")
    return tuple(sum(getattr(page, name) for page in pages) for name in names)


def drained(db: Connection) -> tuple[int, int, int]:
    """Rows, objects and bytes that a drain deletes."""
    me = Worker(db, "me")
    done = []
    while batch := me.try_claim(7):
        me.drop(batch)
        done.append(me.finish(batch))
    return tuple(sum(getattr(f, n) for f in done) for n in ("rows_deleted", "objects_deleted", "bytes_freed"))  # type: ignore[return-value]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(POPULATIONS)
def test_an_exact_plan_is_what_a_drain_then_deletes(db: Connection, people: Population) -> None:
    with db.transaction(force_rollback=True):
        fill(db, people)
        q = Queries(db)
        plan = record(db, "select * from reaper.plan_drain()")
        assert figures(pages(q, people.page)) == figures([plan])
        assert figures([q.estimate_drain()]) == figures([plan])
        rows = plan.rows_due - plan.rows_blocked - plan.rows_in_progress
        assert (rows, plan.objects_freed, plan.bytes_freed) == drained(db)


@pytest.mark.parametrize("limit", [1, 40, 99, 1000])
def test_content_of_many_pastes_is_counted_once_whatever_the_pages(
    db: Connection, paste: Pastes, limit: int
) -> None:
    paste.many("due", 250, content="due")
    paste.many("kept", 250, content="kept")
    paste("live", content="kept", expires="+1 day")
    paste.many("few", 3, content="few", expires="-2 hours")
    paste("late", content="few")
    made = pages(Queries(db), limit)
    assert figures(made) == (504, 0, 0, 2, 20, 1)
    assert sorted(content for page in made for content in page.judged) == ["due", "kept"]


def test_content_that_a_blocked_row_names_is_kept(db: Connection, paste: Pastes) -> None:
    paste("a")
    paste("b")
    db.execute("insert into reaper.blocked values ('b', '23503', 'no', 1, now(), now() + interval '1 hour')")
    assert figures([record(db, "select * from reaper.plan_drain()")]) == (2, 1, 0, 0, 0, 1)
    db.execute("update reaper.blocked set next_attempt = now() - interval '1 hour'")
    assert figures([record(db, "select * from reaper.plan_drain()")]) == (2, 0, 0, 1, 10, 0)


@pytest.mark.broken_on_purpose
def test_tombstones_are_due_and_marked_rows_are_in_progress(db: Connection, paste: Pastes) -> None:
    for code, status in {"a": "NOT_EXPIRED", "b": "DELETED", "c": "DELETION_IN_PROGRESS"}.items():
        paste(code, content=code)
        db.execute("update pastes set deletion_status = %s where short_code = %s", [status, code])
    assert figures([record(db, "select * from reaper.plan_drain()")]) == (3, 0, 1, 2, 20, 0)


def test_a_size_that_was_not_recorded_is_no_zero(db: Connection, paste: Pastes, copy: Copies) -> None:
    paste("a", content="known")
    paste("b", content="unknown", size=0)
    paste("c", content="copied", size=0)
    copy("copied", "default")
    plan = record(db, "select * from reaper.plan_drain()")
    assert (plan.objects_freed, plan.bytes_freed, plan.objects_unsized) == (3, 10, 1)


def test_an_estimate_of_many_rows_says_that_it_is_one_and_is_near(db: Connection) -> None:
    """Each content has five pastes; those of every fifth content include a live one."""
    db.execute(
        "insert into content (content_hash, ref_count, size_bytes)"
        " select 'c' || n, 5, 100 from generate_series(0, 9999) as n"
    )
    db.execute(
        "insert into pastes (short_code, content_hash, expires_at)"
        " select 'p' || n, 'c' || n % 10000,"
        "        now() + case when n < 10000 and n % 5 = 0 then interval '1 day'"
        "                     else make_interval(secs => -n) end"
        "  from generate_series(0, 49999) as n"
    )
    db.execute("analyze content, pastes")
    q = Queries(db)
    estimate, plan = q.estimate_drain(), count_exactly(q, lambda _: None)
    assert (estimate.exact, plan.exact) == (False, True)
    assert (plan.rows_due, plan.objects_freed, plan.objects_kept) == (48_000, 8_000, 2_000)
    assert estimate.rows_due == pytest.approx(48_000, rel=0.1)
    assert estimate.objects_freed == pytest.approx(8_000, rel=0.25)
    assert estimate.bytes_freed == pytest.approx(800_000, rel=0.25)
    assert estimate.objects_kept == pytest.approx(2_000, rel=0.5)
    assert estimate.oldest_due == plan.oldest_due


def test_an_estimate_knows_content_that_all_rows_share(db: Connection) -> None:
    db.execute("insert into content (content_hash, ref_count, size_bytes) values ('hot', 12000, 7)")
    db.execute(
        "insert into pastes (short_code, content_hash, expires_at)"
        " select 'p' || n, 'hot', now() - interval '1 hour' from generate_series(1, 12000) as n"
    )
    db.execute("analyze content, pastes")
    estimate = Queries(db).estimate_drain()
    assert (estimate.rows_due, estimate.objects_freed, estimate.bytes_freed) == (12_000, 1, 7)


def test_what_is_due_behind_the_statistics_is_estimated_as_some_at_least(db: Connection) -> None:
    db.execute("insert into content (content_hash, ref_count) values ('h', 10001)")
    db.execute("alter table pastes set (autovacuum_enabled = off)")
    db.execute("analyze pastes")
    db.execute(
        "insert into pastes (short_code, content_hash, expires_at)"
        " select 'p' || n, 'h', now() - interval '1 hour' from generate_series(1, 10001) as n"
    )
    assert Queries(db).estimate_drain().rows_due >= PAGE


@pytest.mark.parametrize("analysed", [False, True])
def test_no_plan_reads_a_whole_table(db: Connection, connect: Connect, paste: Pastes, analysed: bool) -> None:
    paste.many("due", 12_000)
    paste.many("live", 12_000, expires="+1 day")
    if analysed:
        db.execute("analyze content, pastes")
    asking = connect()
    plans = watched(asking)
    q = Queries(asking)
    q.estimate_drain()
    q.plan_page(None, START, 1000, ())
    q.sample_keys(100)
    assert plans
    assert read_whole(plans, ["pastes", "content", "object_locations"]) == {}
