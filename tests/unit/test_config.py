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
    assert settings.batch_size is None, "reaper.settings says it"
    assert settings.claim_lock_ttl == timedelta(seconds=30)
    assert settings.stuck_after == timedelta(hours=2)
    assert settings.cache_key == "{short_code}"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("REAPER_S3_READ_TIMEOUT", "10 ms", "must be between 100 ms and 5 min"),
        ("REAPER_S3_READ_TIMEOUT", "2 h", "must be between 100 ms and 5 min"),
        ("REAPER_S3_READ_TIMEOUT", "soon", "write a number and a unit: 500 ms, 30 s, 15 min, 2 h, 1 d"),
        ("REAPER_STUCK_AFTER", "30 s", "must be at least 1 min"),
        ("REAPER_CLAIM_LOCK_TTL", "1 d", "must be between 1 s and 1 h"),
        ("REAPER_CACHE_MAX_BYTES", "1 GB", "must be between 0 bytes and 512 MiB"),
        ("REAPER_CACHE_MAX_BYTES", "a lot", "write a number and a unit: 800 MB, 500 GB, 2 TB, or 500 GiB"),
        ("REAPER_BATCH_SIZE", "10001", "must be between 1 and 10000"),
        ("REAPER_BATCH_SIZE", "1.5", "write a whole number"),
        ("REAPER_ROWS_PER_SECOND", "0", "must be at least 1"),
        ("REAPER_CHECK_HASHES", "maybe", "write true or false"),
    ],
)
def test_what_is_wrong_is_said_as_people_write_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        config.load(name.removeprefix(config.PREFIX).lower())
    assert caught.value.message.startswith(f"{name}: {problem}")


def test_bounds_are_part_of_what_they_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_S3_READ_TIMEOUT", "5 min")
    monkeypatch.setenv("REAPER_CACHE_MAX_BYTES", "512 MiB")
    settings = config.load("s3_read_timeout", "cache_max_bytes")
    assert (settings.s3_read_timeout, settings.cache_max_bytes) == (timedelta(minutes=5), 512 << 20)


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
