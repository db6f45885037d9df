"""What a worker logs: lines that say by themselves which worker, of which release, did what."""

import json
from collections.abc import Callable
from typing import Any

import reaper
from tests.support.forked_processes import terminated
from tests.support.worker_world import WorkerWorld

RUNS = "exists (select from reaper.services where name = 'drain' and last_finished_at is not null)"


def lines(world: WorkerWorld) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.said().splitlines()]


def test_each_line_of_a_worker_names_worker_version_and_event(
    world: WorkerWorld, populate: Callable[..., None]
) -> None:
    populate(due=50, live=10, contents=20)
    # Told before there is a worker: the settings are read first.
    world.extra["REAPER_FROM_THE_FUTURE"] = "1"
    worker = world.worker("--log-json")
    world.started("drain")
    world.run("drain")
    world.until(f"reaper.count_due() = 0 and {RUNS}")
    assert terminated(worker) == 0
    found = lines(world)
    for line in found:
        assert {"worker", "version", "event", "level", "timestamp"} <= line.keys(), line
    assert {(line["worker"].split(":")[1], line["version"]) for line in found} == {
        (str(worker.pid), reaper.__version__)
    }
    events = [line["event"] for line in found]
    assert events[0].startswith("unknown settings are ignored: REAPER_FROM_THE_FUTURE")
    assert {"worker started", "worker stopping: signal received"} <= set(events)
    [drained] = [line for line in found if line.get("service") == "drain" and line.get("rows_deleted")]
    assert (drained["event"], drained["rows_deleted"]) == ("service run finished", 50)
