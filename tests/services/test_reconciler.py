"""Buckets and database, compared both ways: what is missing, what no row names, what must not be touched."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from reaper.services import reconciler
from tests.support import service_ticks
from tests.support.worker_world import InProcessWorker, WorkerWorld

DAY = "1 day 1 minute"
HASH = hashlib.sha256(b"named by its hash").hexdigest()
FOREIGN = ("backups/dump.sql", "zz.txt", "a file with spaces", "00", "ffff")


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of seven objects, so that a pass has many."""
    monkeypatch.setattr(reconciler, "PAGE", 7)


@pytest.fixture
def stocked(
    world: WorkerWorld,
    in_process: InProcessWorker,  # noqa: ARG001  registers the services
    small_pages: None,  # noqa: ARG001
    populate: Callable[..., None],
) -> WorkerWorld:
    """Two hundred contents with their objects."""
    populate(due=0, live=200, contents=2000, cached=False)
    world.sql("select reaper.enable_service('reconciler')")
    return world


def run(world: WorkerWorld, in_process: InProcessWorker) -> dict[str, int]:
    """A pass, and its figures."""
    in_process.run_service("reconciler")
    figures, error, *_ = world.result("reconciler")
    assert error is None
    return dict(figures)


def sighted(world: WorkerWorld) -> set[str]:
    return {row[0] for row in world.sql("select object_key from reaper.sightings")}


def troubled(world: WorkerWorld) -> set[str]:
    return {
        row[0]
        for row in world.sql("select object_key from reaper.object_locations where trouble = 'missing'")
    }


def leaked(world: WorkerWorld, number: int = 3) -> list[str]:
    """Objects of ours whose rows are gone, as after a restore."""
    keys = [f"{n:02x}/{n:02x}{'0' * 62}/{n:032x}" for n in range(number)]
    world.put(keys)
    return keys


def two_days(world: WorkerWorld, in_process: InProcessWorker) -> dict[str, int]:
    """Today's pass, and tomorrow's, of which the figures are."""
    run(world, in_process)
    world.advance_clock(DAY)
    return run(world, in_process)


def test_what_is_unknown_missing_or_written_down_is_counted_exactly(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    before = world.value("select count(*) from reaper.object_locations")
    lost = sorted(world.keys())[5:200:40]
    world.backends["default"].drop(*lost)
    unknown = {*leaked(world), *FOREIGN, HASH}
    world.put([*FOREIGN, HASH])
    held = world.value("select object_key from reaper.begin_put('new', repeat('a', 64), 10, null)")
    world.put([held])
    figures = run(world, in_process)
    assert figures["listed"] == 200 - len(lost) + len(unknown) + 1
    assert (figures["expected"], figures["missing"], figures["unknown"]) == (200, len(lost), len(unknown))
    assert figures["recorded"] == 200 - len(lost) - before
    assert sighted(world) == unknown
    assert troubled(world) == set(lost) if before else troubled(world) <= set(lost)
    assert world.value("select count(*) from reaper.suspects") == 0
    view = "select phase, listed, missing, unknown, untracked_objects from reaper.integrity"
    assert world.sql(view) == [("idle", figures["listed"], len(lost), len(unknown), len(unknown))]
    assert world.sql("select * from reaper.check_invariants()") == []
    # What is gone or known by the next pass is a sighting no longer.
    world.backends["default"].drop("zz.txt")
    run(world, in_process)
    assert sighted(world) == unknown - {"zz.txt"}


def test_what_a_scrub_suspected_a_moment_ago_is_recorded_by_the_pass_that_misses_it_too(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    run(world, in_process)
    content_hash, lost = world.sql(
        "select content_hash, object_key from reaper.object_locations order by object_key limit 1"
    )[0]
    world.backends["default"].drop(lost)
    world.sql("select reaper.suspect_missing(%s, 'default', %s)", content_hash, lost)
    assert run(world, in_process)["missing"] == 1
    assert troubled(world) == {lost}
    assert world.sql("select * from reaper.suspects") == []


def test_untracked_objects_are_deleted_a_day_later_through_the_queue_and_only_where_that_is_set(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    keys = world.keys()
    world.put([*FOREIGN, HASH])
    leaked(world)
    assert two_days(world, in_process)["retired"] == 0
    world.sql("select reaper.set_untracked('default', 'delete')")
    world.put(["late"])
    figures = run(world, in_process)
    assert figures["retired"] == 3 + len(FOREIGN) + 1
    in_process.run_service("cleanup_queue")
    in_process.run_service("cleanup_queue")
    assert world.keys() == keys | {"late"}
    assert world.sql("select * from reaper.retired_keys") == []
    assert world.sql("select * from reaper.check_invariants()") == []


def test_a_name_that_a_writer_took_before_it_was_retired_is_left_and_may_be_used_again(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    world.put([HASH, "other"])
    two_days(world, in_process)
    insert = "insert into content (content_hash, ref_count) values (%s, 1)"
    with psycopg.connect(world.dsn) as writer:
        writer.execute(insert, [HASH])
        world.sql("select reaper.set_untracked('default', 'delete')")
        assert run(world, in_process)["retired"] == 2
        in_process.run_service("cleanup_queue")
        assert world.sql("select * from reaper.cleanup_queue") == []
        # Who comes after the retirement is told.
        with psycopg.connect(world.dsn) as late, pytest.raises(psycopg.Error, match="queued for deletion"):
            late.execute("insert into content (content_hash, object_key) values ('h', 'other')")
        writer.execute("insert into pastes (short_code, content_hash) values ('new', %s)", [HASH])
    in_process.run_service("cleanup_queue")
    in_process.run_service("cleanup_queue")
    left = world.keys()
    assert (HASH in left, "other" in left) == (True, False)
    assert world.sql("select * from reaper.retired_keys") == []
    assert world.sql("select * from reaper.sightings") == []


def test_only_bytes_that_their_key_names_are_imported(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    body = b"named by its hash"
    own = f"{HASH[:2]}/{HASH}/{'1' * 32}"
    for key, data in {HASH: b"other bytes", own: body, "f" * 64: body, "zz.txt": body}.items():
        world.backends["default"].store(key, data)
    world.sql("select reaper.set_untracked('default', 'import')")
    figures = two_days(world, in_process)
    assert (figures["imported"], figures["refused"]) == (1, 3)
    query = "select object_key, ref_count, size_bytes from content where content_hash = %s"
    assert world.sql(query, HASH) == [(own, 0, len(body))]
    assert sighted(world) == {HASH, "f" * 64, "zz.txt"}
    assert world.sql("select * from reaper.check_invariants()") == []
    world.sql("update reaper.settings set content_digest = 'unknown'")
    with pytest.raises(psycopg.Error, match="not known that content hashes are SHA-256"):
        world.sql("select reaper.set_untracked('default', 'import')")


@pytest.mark.parametrize("emptied", [True, False], ids=["empty", "mostly missing"])
def test_the_wrong_bucket_stops_the_pass_and_changes_nothing(
    stocked: WorkerWorld, in_process: InProcessWorker, emptied: bool
) -> None:
    world = stocked
    keys = sorted(world.keys())
    world.backends["default"].drop(*(keys if emptied else keys[:150]))
    before = world.sql("select * from reaper.object_locations order by 1")
    with pytest.raises(reconciler.Braked, match="empty" if emptied else "are missing, more than"):
        in_process.run_service("reconciler")
    assert troubled(world) == set()
    assert world.sql("select * from reaper.suspects") == []
    assert [row[:5] for row in before] == [
        row[:5] for row in world.sql("select * from reaper.object_locations order by 1")
    ] or not before
    assert world.value("select phase from reaper.integrity") == "braked"
    # When the right bucket is back, the next pass goes through.
    world.put(keys)
    assert run(world, in_process)["missing"] == 0


class StopSoon:
    """Lets a run take so many looks at it, then ends it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_pass_that_is_interrupted_after_any_window_goes_on_where_it_was(stocked: WorkerWorld) -> None:
    world = stocked
    unknown = set(leaked(world))
    windows = 0
    with world.app() as app:
        context = service_ticks.context(app, "walker:0")
        while reconciler.tick(replace(context, stop=StopSoon(4))).more:
            windows += 1
    assert windows >= 200 // 7 // 4
    assert sighted(world) == unknown
    assert world.sql("select phase, listed, expected from reaper.integrity") == [("idle", 203, 200)]


def test_a_process_that_slept_while_another_went_on_changes_nothing(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    listed = "select reaper.record_listed('default', %s, '', null, 0, 0, '{}', '{}', '{}', '{}')"
    begun: Any = world.value("select pass from reaper.begin_reconciliation('{default}')")
    run(world, in_process)
    with pytest.raises(psycopg.Error, match="has gone on without this process"):
        world.sql(listed, begun)


def test_an_operator_compares_counts_and_deletes_while_the_service_is_off(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    world.sql("select reaper.disable_service('reconciler')")
    keys = world.keys()
    orphans = {*leaked(world), "zz.txt", HASH}
    world.put(["zz.txt", HASH])
    planned = world.command("reconcile", "--plan", "--json")
    assert planned.returncode == 1, planned.stderr
    assert json.loads(planned.stdout)["unknown"] == len(orphans)
    assert sighted(world) == set()
    assert world.command("reconcile", "--backend", "default").returncode == 1
    assert sighted(world) == orphans
    young = world.command("orphans", "delete", "--backend", "default", "--older-than", "7d", "--yes")
    assert "nothing to delete" in young.stdout
    world.advance_clock("8 days")
    assert world.command("reconcile").returncode == 1
    counted = world.command("verify", "--plan-orphans", "--json")
    shapes = {each["shape"]: each["old_objects"] for each in json.loads(counted.stdout)}
    assert shapes == {"reaper's own": 3, "hash": 1, "other": 1}
    assert world.command("orphans", "delete", "--backend", "default", "--older-than", "1h").returncode == 2
    done = world.command("orphans", "delete", "--backend", "default", "--older-than", "7d", "--yes")
    assert "5 objects queued for deletion, 0 in use by now, 0 wait" in done.stdout
    in_process.run_service("cleanup_queue")
    assert world.keys() == keys
    one = world.value("select min(content_hash) from content")
    world.sql("update reaper.settings set content_digest = 'unknown'")
    [copy] = json.loads(world.command("scrub", one, "--json").stdout)
    assert (copy["outcome"], "bytes were not compared" in copy["detail"]) == ("good", True)
    world.sql("update reaper.settings set content_digest = 'sha256'")
    scrubbed = world.command("scrub", one, "--json")
    assert [copy["outcome"] for copy in json.loads(scrubbed.stdout)] == ["corrupt"]
    assert world.command("scrub", "nothing").returncode == 4
    nowhere = world.command("orphans", "delete", "--backend", "nowhere", "--yes")
    assert (nowhere.returncode, "there is no backend nowhere" in nowhere.stderr) == (4, True)
