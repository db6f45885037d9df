"""Settings: defaults, bounds, and plain words for all that is wrong."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from reaper import config
from reaper.errors import ConfigError, Exit


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in config.Settings.model_fields:
        monkeypatch.delenv(config.PREFIX + name.upper(), raising=False)


def test_the_defaults_are_those_of_the_documentation() -> None:
    settings = config.load()
    assert settings.batch_size == 1000
    assert settings.claim_lock_ttl == timedelta(seconds=30)
    assert settings.stuck_after == timedelta(hours=2)
    assert settings.cache_key == "{short_code}"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("500 ms", 0.5), ("15min", 900), ("2 h", 7200), ("1.5h", 5400), ("1d", 86400)],
)
def test_durations_are_written_with_a_unit(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: float
) -> None:
    monkeypatch.setenv("REAPER_STUCK_AFTER", text)
    if seconds < 60:
        with pytest.raises(ConfigError, match="REAPER_STUCK_AFTER"):
            config.load("stuck_after")
    else:
        assert config.load("stuck_after").stuck_after == timedelta(seconds=seconds)


def test_every_problem_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "REAPER_DATABASE_URL": "postgresql://me:s3cr%zzet@host/db",
        "REAPER_REDIS_URL": "http://s3cret@host",
        "REAPER_S3_ENDPOINT_URL": "s3.example.org",
        "REAPER_CACHE_KEY": "paste",
        "REAPER_BATCH_SIZE": "0",
        "REAPER_CLAIM_LOCK_TTL": "soon",
        "REAPER_STUCK_AFTER": "1 s",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        config.load(*config.Settings.model_fields)
    for name in wrong:
        assert f"{name}: " in caught.value.message
    assert "REAPER_S3_BUCKET is not set" in caught.value.message
    assert "s3cr" not in caught.value.message
    assert caught.value.exit_code == Exit.REFUSED


def test_a_command_asks_only_for_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_DATABASE_URL", "dbname=x")
    monkeypatch.setenv("REAPER_BATCH_SIZE", "many")
    assert config.load("database_url").dsn == "dbname=x"
    with pytest.raises(ConfigError, match="REAPER_BATCH_SIZE"):
        config.load("database_url", "batch_size")


def test_an_option_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_BATCH_SIZE", "10")
    assert config.load("batch_size", batch_size=20).batch_size == 20
    assert config.load("batch_size", batch_size=None).batch_size == 10


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_DATABASE_URL", "")
    with pytest.raises(ConfigError, match="REAPER_DATABASE_URL is not set"):
        config.load("database_url")


def test_the_address_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_DATABASE_URL", "postgresql://me:s3cret@host/db")
    assert "s3cret" not in repr(config.load("database_url"))
