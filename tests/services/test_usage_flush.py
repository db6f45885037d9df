"""Usage flush: what processes left in Redis comes to PostgreSQL, also where that is nonsense or away."""

from dataclasses import replace

import pytest

from reaper.storage.usage_meter import Kind
from tests.support.ports import closed_port
from tests.support.worker_world import WorkerWorld

SUM = "select coalesce(sum(requests), 0)::bigint from reaper.usage"
KEY = "reaper:usage:*"


def died_after(world: WorkerWorld, requests: int) -> None:
    """A process tells Redis what it has used, and never comes to tell PostgreSQL."""
    app = world.app()
    for _ in range(requests):
        app.meter.count("default", Kind.READ, 0, 10)
    app.meter.learn(world.now())
    app.usage.publish()


def test_what_the_dead_had_told_redis_is_counted_once_and_taken_away_in_time(world: WorkerWorld) -> None:
    died_after(world, 3)
    with world.cache() as cache:
        [key] = cache.keys(KEY)
        cache.hset(key, "nonsense", "{")
        cache.hset(key, "00000000-0000-0000-0000-000000000001", '{"at": 1, "rows": [{"process": 5}, 7]}')
        with world.in_process_worker() as in_process:
            for _ in range(2):
                in_process.run_service("usage_flush")
            assert world.value(SUM) == 3
            # What is no report is old.
            assert cache.hlen(key) == 1
        world.advance_clock("61 minutes")
        with world.in_process_worker() as in_process:
            in_process.run_service("usage_flush")
            assert (world.value(SUM), cache.exists(key)) == (3, 0)
            assert world.value("select requests_read from reaper.usage_monthly") == 3


@pytest.mark.parametrize(("redis", "locked"), [("there", True), ("away", True), ("none", False)])
def test_the_flush_is_alone_where_redis_is_configured_whether_or_not_it_answers(
    world: WorkerWorld, redis: str, locked: bool
) -> None:
    with closed_port() as port:
        urls = {"there": world.redis_url, "away": f"redis://127.0.0.1:{port}", "none": ""}
        here = replace(world, redis_url=urls[redis])
        with here.in_process_worker() as in_process:
            assert in_process.runner.services["usage_flush"].locked is locked
            in_process.run_service("usage_flush")
        assert world.value("select runs from reaper.schedule where name = 'usage_flush'") == 1


def test_a_process_tells_what_is_left_at_its_end_and_its_own_totals_without_redis(world: WorkerWorld) -> None:
    with replace(world, redis_url="").app() as app:
        app.buckets["default"].put("k", b"x", 1)
        assert world.value(SUM) == 0
    assert world.value(SUM) == world.s3.used["pastes"].requests == 1
