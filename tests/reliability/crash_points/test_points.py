"""The registry of crash points is complete: what reaches PostgreSQL, a backend or Redis is a point."""

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

from reaper import ports
from reaper.dev import fault_points
from reaper.queries import Queries
from tests.support.crash_points.jobs import Passage
from tests.support.crash_points.world import CrashWorld
from tests.support.paste_fixtures import Connection

# Only operators ask so, by hand, and nothing follows from the answers.
BY_HAND = {"objects.list", "objects.probe", "cache.codes", "cache.present"}
# Questions that are no function of ours: one is a lock of the connection, the others read a clock and a view.
NO_FUNCTION = {"lock_service", "unlock_service", "now", "is_runnable", "failures_in_a_row"}
# These modules speak to PostgreSQL to set up a connection and to see whether it lives; Queries does the rest.
SET_UP = {"app.py", "db/advisory_lock.py", "db/pool.py"}
OPERATORS = {
    "ops/services.py",
    "ops/doctor.py",
    "ops/code_drift.py",
    "ops/dlq.py",
    "ops/reports.py",
    "ops/policies.py",
}
ELSEWHERE = {"cache", "cli", "dev", "migrate"}
VOLATILE = """
select proname, bool_or(provolatile = 'v') from pg_proc
 where pronamespace = 'reaper'::regnamespace
 group by proname
"""


def public(kind: type) -> set[str]:
    """The methods that a caller may use."""
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_every_query_is_a_point() -> None:
    assert Counter([*fault_points.COMMITS, *fault_points.QUESTIONS]) == Counter(public(Queries))


@pytest.mark.parametrize(
    ("port", "registered"),
    [
        (ports.ObjectStore, fault_points.OBJECTS),
        (ports.Cache, fault_points.CACHE),
        (ports.PasteCache, fault_points.PASTES),
    ],
)
def test_every_call_of_a_port_is_a_point(port: type, registered: tuple[str, ...]) -> None:
    assert Counter(registered) == Counter(public(port))


def test_every_port_has_points() -> None:
    classes = inspect.getmembers(ports, inspect.isclass)
    assert {name for name, kind in classes if kind.__module__ == ports.__name__} == {
        "ObjectStore",
        "Cache",
        "PasteCache",
        "ClaimLock",
    }
    assert public(ports.ClaimLock) == {"hold"}


def test_what_commits_is_told_apart_from_what_only_asks(db: Connection) -> None:
    volatile = dict(db.execute(VOLATILE).fetchall())
    named = set(fault_points.COMMITS) | set(fault_points.QUESTIONS)
    assert named - volatile.keys() == NO_FUNCTION
    assert {name for name in named - NO_FUNCTION if volatile[name]} == set(fault_points.COMMITS) - NO_FUNCTION


def test_nothing_but_queries_speaks_to_postgresql_on_the_way_of_a_job() -> None:
    modules = {m.relative_to("reaper"): m.read_text() for m in Path("reaper").rglob("*.py")}
    speaking = {m for m, text in modules.items() if re.search(r"\.execute\(", text)}
    on_the_way = {m.as_posix() for m in speaking if m.parts[0] not in ELSEWHERE}
    assert on_the_way == {"queries.py"} | SET_UP | OPERATORS


def test_every_point_is_passed_by_some_job_and_nothing_is_said_beside_the_points(
    passages: dict[str, Passage],
) -> None:
    assert {job: p.strays for job, p in passages.items() if p.strays} == {}
    assert {point for p in passages.values() for point in p.passed} == set(fault_points.ALL) - BY_HAND


def test_what_is_said_beside_the_points_is_heard(world: CrashWorld) -> None:
    assert world.rehearse("stray").strays == ["select 2"]
