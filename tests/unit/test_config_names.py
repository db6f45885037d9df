"""Names that no setting has: misspelt ones are refused, Kubernetes' own are passed over, others are told."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pytest

from reaper import config
from reaper.config import variables
from reaper.errors import ConfigError

PACKAGE = Path(config.__file__).parents[1]
LINKS = {
    "REAPER_WEB_PORT": "tcp://10.0.0.7:8080",
    "REAPER_WEB_SERVICE_HOST": "10.0.0.7",
    "REAPER_WEB_SERVICE_PORT": "8080",
    "REAPER_WEB_SERVICE_PORT_HTTP": "8080",
    "REAPER_WEB_PORT_8080_TCP": "tcp://10.0.0.7:8080",
    "REAPER_WEB_PORT_8080_TCP_PROTO": "tcp",
    "REAPER_WEB_PORT_8080_TCP_PORT": "8080",
    "REAPER_WEB_PORT_8080_TCP_ADDR": "10.0.0.7",
    "REAPER_PORT": "tcp://10.0.0.8:5432",
    "REAPER_SERVICE_HOST": "10.0.0.8",
    "REAPER_PORT_5432_UDP_ADDR": "10.0.0.8",
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith(config.PREFIX)]:
        monkeypatch.delenv(name)
    variables.warn_of.cache_clear()


def complaint(**given: object) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load(**given)
    return caught.value.message


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("databse_url", "database_url"),
        ("bucket", "s3_bucket"),
        ("batchsize", "batch_size"),
        ("redis", "redis_url"),
    ],
)
def test_an_unknown_keyword_is_refused_with_the_one_that_was_meant(name: str, meant: str) -> None:
    assert complaint(**{name: "x"}) == f"there is no setting {name}; did you mean {meant}?"


def test_an_unknown_keyword_is_refused_also_without_a_value_and_without_a_guess() -> None:
    said = complaint(colour=None)
    assert said.startswith("there is no setting colour; known settings: database_url, redis_url,")
    assert {"stuck_after", "web_hosts"} <= set(said.replace(",", " ").split())


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("REAPER_DATABSE_URL", "REAPER_DATABASE_URL"),
        ("REAPER_DATABASE_URI", "REAPER_DATABASE_URL"),
        ("REAPER_DATABASE", "REAPER_DATABASE_URL"),
        ("REAPER_REDIS", "REAPER_REDIS_URL"),
        ("REAPER_BUCKET", "REAPER_S3_BUCKET"),
        ("REAPER_BATCHSIZE", "REAPER_BATCH_SIZE"),
        ("REAPER_CHECK_HASH", "REAPER_CHECK_HASHES"),
        ("REAPER_STUCK_AFTR", "REAPER_STUCK_AFTER"),
        ("reaper_batch_sise", "REAPER_BATCH_SIZE"),
        ("REAPER_PGBIN", "REAPER_PG_BIN"),
    ],
)
def test_a_variable_that_is_nearly_one_of_ours_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "s3cret")
    assert complaint() == f"{name} is not known; did you mean {meant}?"


def test_a_misspelt_line_of_the_env_file_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("REAPER_S3_BUKET=pastes\n")
    assert complaint() == "REAPER_S3_BUKET is not known; did you mean REAPER_S3_BUCKET?"


def test_names_and_values_that_are_wrong_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_DATABSE_URL", "dbname=x")
    monkeypatch.setenv("REAPER_S3_BUKCET", "pastes")
    monkeypatch.setenv("REAPER_BATCH_SIZE", "0")
    with pytest.raises(ConfigError) as caught:
        config.load_all("database_url", "backends", "redis_url", stuck_afer="2 h")
    assert caught.value.message.split("; ") == [
        *("there is no setting stuck_afer", "did you mean stuck_after?"),
        *("REAPER_DATABSE_URL is not known", "did you mean REAPER_DATABASE_URL?"),
        *("REAPER_S3_BUKCET is not known", "did you mean REAPER_S3_BUCKET?"),
        "REAPER_BATCH_SIZE: must be between 1 and 10000",
        "REAPER_REDIS_URL is not set",
    ]


def test_kubernetes_service_links_are_passed_over_in_silence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)
    config.load()
    assert caplog.messages == []


def test_what_only_looks_like_a_service_link_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("REAPER_WEB_PORT", "8080")
    config.load()
    assert "REAPER_WEB_PORT" in caplog.text


def test_other_unknown_names_are_one_warning_once_and_without_their_values(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REAPER_COLOUR", "s3cret")
    monkeypatch.setenv("REAPER_QUEUES", "s3cret")
    config.load()
    config.load_all()
    [warning] = caplog.records
    assert (warning.levelno, warning.name) == (logging.WARNING, "reaper.config.variables")
    assert "REAPER_COLOUR, REAPER_QUEUES" in warning.getMessage()
    assert "s3cret" not in caplog.text
    assert capsys.readouterr().out == ""


def test_an_unknown_name_without_a_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAPER_DATABSE_URL", "")
    config.load()


def test_a_variable_that_holds_a_backends_key_is_known(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("REAPER_S3_BUCKET_1", "an access key")
    monkeypatch.setenv("REAPER_COLD_SECRET", "a secret key")
    (tmp_path / "reaper.toml").write_text(
        '[backends.default]\nbucket = "x"\naccess_key_env = "REAPER_S3_BUCKET_1"\n'
        'secret_key_env = "REAPER_COLD_SECRET"\n'
    )
    config.load()
    assert caplog.messages == []


@pytest.mark.parametrize(
    "text", ["backends = 1", "[backends]\nx = 1", "not TOML", '[[backends]]\nbucket = "x"']
)
def test_a_file_that_cannot_be_understood_names_no_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    (tmp_path / "reaper.toml").write_text(text)
    monkeypatch.setenv("REAPER_S3_BUCKET_1", "x")
    assert "REAPER_S3_BUCKET_1 is not known" in complaint()


def test_every_variable_that_the_code_names_is_known() -> None:
    named = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r"REAPER_[A-Z0-9_]*[A-Z0-9]", path.read_text())
        if not path.is_relative_to(PACKAGE / "config")
    }
    known = {variables.variable_of(name) for name in config.Settings.model_fields} | variables.DEVELOPMENT
    assert {"REAPER_PG_BIN", "REAPER_DATABASE_URL"} <= named <= known
