"""A login without any right sends notifications to the workers."""

import urllib.request

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from reaper.worker.options import WorkerOptions
from tests.support.forked_processes import terminated
from tests.support.ports import free_port
from tests.support.sample_services import MARKS, ONCE
from tests.support.waiting import wait_until
from tests.support.worker_world import WorkerWorld

CHANNELS = ("procrastinate_queue_v1#reaper", "procrastinate_any_queue_v1", "procrastinate_job_notify_v1")
BAD = (
    *("", "garbage", "[]", "7", "null", "{}", '{"type": 1}', '{"type": ["job_inserted"]}', "x" * 7_999),
    "[" * 7_999,
)
# These say something that is wrong, or that only the table may say.
WRONG = (
    '{"type": "job_inserted"}',
    '{"type": "job_inserted", "job_id": {}}',
    '{"type": "abort_job_requested"}',
    '{"type": "abort_job_requested", "job_id": [1]}',
    '{"type": "abort_job_requested", "job_id": {"a": 1}}',
    '{"type": "abort_job_requested", "job_id": 1}',
)
LISTENING = (
    "exists (select from pg_stat_activity where query like 'LISTEN%%' and datname = current_database())"
)


@pytest.fixture
def stranger(world: WorkerWorld):
    """The connection of a login that may only connect."""
    world.sql("create role stranger login")
    with psycopg.connect(make_conninfo(world.dsn, user="stranger"), autocommit=True) as connection:
        yield connection
    world.sql("drop role stranger")


def test_no_notification_of_a_stranger_ends_a_worker_and_bad_ones_are_counted(
    world: WorkerWorld, stranger: psycopg.Connection[tuple[object, ...]]
) -> None:
    world.sql(MARKS)
    port = free_port()
    worker = world.serving([ONCE], WorkerOptions(health_port=port))
    world.started("once")
    world.until(LISTENING)
    for payload in (*BAD, *WRONG):
        for channel in CHANNELS:
            stranger.execute("select pg_notify(%s, %s)", [channel, payload])

    def ignored() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return f"reaper_notifications_ignored_total {len(BAD)}.0" in answer.read().decode()

    wait_until(ignored, "all bad ones are counted", world.said)
    world.run("once")
    world.until("exists (select from marks)")
    assert world.said().count("notification ignored") == 1
    assert terminated(worker) == 0
