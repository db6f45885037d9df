"""Where the health port of a worker listens."""

import pytest
from prometheus_client import CollectorRegistry

from reaper import config
from reaper.errors import ConfigError
from reaper.worker.health import HealthServer, ProcessHealth
from reaper.worker.options import LOCAL, WorkerOptions


def test_it_is_this_host_alone_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.load().health_address == WorkerOptions().health_address == LOCAL == "127.0.0.1"
    monkeypatch.setenv("REAPER_HEALTH_ADDRESS", "0.0.0.0")
    assert config.load().health_address == "0.0.0.0"
    assert config.load(health_address="::1").health_address == "::1", "an option goes before"


def test_an_address_that_is_not_ours_is_refused_with_what_to_do() -> None:
    health = ProcessHealth(lambda: 0.0, lambda: pytest.fail("not asked"))
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1, port 0") as refused:
        HealthServer(0, health, CollectorRegistry(), "192.0.2.1")
    assert "--health-address" in str(refused.value.hint)
