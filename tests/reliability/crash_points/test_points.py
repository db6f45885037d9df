"""The registry of crash points is complete: what reaches PostgreSQL, a backend or Redis is a point."""

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

from reaper import ports
from reaper.dev import fault_points
from reaper.queries.base import Area
from tests.support.crash_points.jobs import Passage
from tests.support.crash_points.world import CrashWorld
from tests.support.paste_fixtures import Connection

# Only `doctor --probe` asks so.
BY_HAND = {"objects.probe"}
# Volatile, and yet nothing is left behind: it asks for the plan of what it would do.
READS_ALL_THE_SAME = {"estimate_drain", "plan_policy"}
# A second way to call a function that has a method of its name.
NAMED_OTHERWISE = {"enqueue_late_copy"}
# These modules ask PostgreSQL to set up a connection, whether it lives, and which right it lacks.
# Queries does the rest.
SET_UP = {
    "app/database_connections.py",
    "db/async_rows.py",
    "db/missing_rights.py",
    "db/pooler.py",
    "db/rows.py",
    "db/session_settings.py",
}
# Loads the code of the release beside that of the database, and rolls back.
COMPARES_CODE = {"ops/code_drift.py"}
ELSEWHERE = {"cache", "cli", "dev", "migrate"}
VOLATILE = """
select proname, bool_or(provolatile = 'v') from pg_proc
 where pronamespace = 'reaper'::regnamespace
 group by proname
"""


def public(kind: type) -> set[str]:
    """The methods that a caller may use."""
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_a_query_that_is_not_marked_is_refused() -> None:
    with pytest.raises(TypeError, match="neither @commits nor @reads: unmarked"):

        class Careless(Area):
            def unmarked(self) -> None: ...


@pytest.mark.parametrize(
    ("port", "registered"),
    [
        (ports.ObjectStore, fault_points.PORTS["objects"]),
        (ports.Cache, fault_points.PORTS["cache"]),
        (ports.PasteCache, fault_points.PORTS["pastes"]),
        (ports.UsageBoard, fault_points.PORTS["usage"]),
        (ports.Webhooks, fault_points.PORTS["webhooks"]),
    ],
)
def test_every_call_of_a_port_is_a_point(port: type, registered: tuple[str, ...]) -> None:
    assert Counter(registered) == Counter(public(port))


def test_every_port_has_points() -> None:
    classes = inspect.getmembers(ports, inspect.isclass)
    protocols = {name for name, kind in classes if getattr(kind, "_is_protocol", False)}
    assert {name for name in protocols if getattr(ports, name).__module__ == ports.__name__} == {
        "ObjectStore",
        "Cache",
        "PasteCache",
        "ClaimLock",
        "UsageBoard",
        "Webhooks",
    }
    assert public(ports.ClaimLock) == {"hold"}


def test_what_commits_is_told_apart_from_what_only_asks(db: Connection) -> None:
    volatile = dict(db.execute(VOLATILE).fetchall())
    changing = {name for name in volatile if volatile[name]} - READS_ALL_THE_SAME
    assert changing & set(fault_points.READS) == set()
    assert set(fault_points.COMMITS) - changing == NAMED_OTHERWISE


def test_nothing_but_queries_speaks_to_postgresql_on_the_way_of_a_job() -> None:
    modules = {m.relative_to("reaper"): m.read_text() for m in Path("reaper").rglob("*.py")}
    speaking = {m for m, text in modules.items() if re.search(r"\.execute\(", text)}
    on_the_way = {m.as_posix() for m in speaking if m.parts[0] not in ELSEWHERE}
    assert on_the_way == SET_UP | COMPARES_CODE


def test_nothing_but_queries_names_a_function_of_ours() -> None:
    texts = {m.as_posix(): m.read_text() for m in Path("reaper").rglob("*.py")}
    called = re.compile(r"(?:select|call|from|cross join lateral) reaper\.\w+\(")
    naming = {name for name, text in texts.items() if called.search(text)}
    assert {
        name for name in naming if not name.startswith(("reaper/queries/", "reaper/migrate/", "reaper/dev/"))
    } == set()


def test_every_point_is_passed_by_some_job_and_nothing_is_said_beside_the_points(
    passages: dict[str, Passage],
) -> None:
    assert {job: p.strays for job, p in passages.items() if p.strays} == {}
    assert {point for p in passages.values() for point in p.passed} == set(fault_points.ALL) - BY_HAND


def test_what_is_said_beside_the_points_is_heard(world: CrashWorld) -> None:
    assert world.rehearse("stray").strays == ["select 2"]
