"""With its heartbeat a worker tells what does not answer it, also while there is nothing to do."""

from typing import Any

import pytest

from reaper import config
from reaper.app import App
from reaper.cache.redis.connection import RedisConnection, RedisConnectionOptions
from reaper.dev.embedded import Valkey
from reaper.errors import Unreachable
from reaper.telemetry import events
from reaper.telemetry.events import Telemetry
from reaper.worker.heartbeat import Heartbeat
from tests.support.paste_fixtures import Connection, value
from tests.support.ports import closed_port
from tests.support.valkey_servers import stopped
from tests.support.waiting import wait_until

REASONS = "select array_to_string(reasons, ' ') from reaper.health"
DEGRADED = "select degraded from reaper.fleet"


def app(dsn: str, **given: Any) -> App:
    return App(config.load_all("database_url", database_url=dsn, **given), worker="idle")


def test_an_idle_worker_notices_that_redis_is_away(db: Connection, dsn: str) -> None:
    with closed_port() as port, app(dsn, redis_url=f"redis://:secret@127.0.0.1:{port}/0") as worker:
        with worker.heartbeat(every=0.05):
            wait_until(lambda: "Redis does not answer worker idle" in value(db, REASONS), "attention")
            assert value(db, DEGRADED) == {"redis": f"127.0.0.1:{port}: no connection"}
        assert value(db, REASONS) == "", "a worker that has ended says nothing"


def test_a_probe_notices_that_redis_is_back() -> None:
    telemetry, at_once = Telemetry(), RedisConnectionOptions(timeout=0.2, cool_down=0.0)
    with Valkey.start() as valkey:
        redis = RedisConnection(valkey.url, telemetry, at_once)
        redis.probe()
        assert telemetry.degraded_services == {}
        with stopped(valkey):
            redis.probe()
            assert set(telemetry.degraded_services) == {"redis"}
        redis.probe()
        assert telemetry.degraded_services == {}
        redis.close()


def test_redis_that_is_not_configured_is_not_away(db: Connection, dsn: str) -> None:
    with app(dsn) as worker, worker.heartbeat(every=0.05):
        first = value(db, "select beat_at from reaper.workers")
        wait_until(lambda: value(db, "select beat_at from reaper.workers") > first, "another beat")
        assert value(db, "select degraded from reaper.workers") is None


@pytest.mark.parametrize("service", ["standby", "claim lock"])
def test_trouble_that_nobody_meets_again_is_forgotten(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = Telemetry()
    telemetry.degraded(service, "no answer")
    assert telemetry.degraded_services == {service: "no answer"}
    monkeypatch.setattr(events, "FORGOTTEN_AFTER", 0.0)
    assert telemetry.degraded_services == {}
    assert telemetry.registry.get_sample_value("reaper_degraded", {"service": service}) == 0


def test_a_beat_that_fails_fails_no_job() -> None:
    def away(_: object) -> None:
        raise Unreachable("PostgreSQL does not answer")

    Heartbeat(away, "busy", Telemetry()).take_jobs_as(7)  # type: ignore[arg-type]
