"""reaper.toml: several backends, and plain words for all that is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reaper import config
from reaper.app import App
from reaper.errors import ConfigError

Write = Callable[[str], Path]
TWO = """
[backends.default]
bucket = "pastes"
quota = "500 GB"

[backends.cold]
bucket = "pastes-cold"
endpoint_url = "https://s3.example.org"
access_key_env = "COLD_ACCESS_KEY"
secret_key_env = "COLD_SECRET_KEY"
content_md5 = true
single_deletes = true
"""


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Write:
    """Writes reaper.toml where the process stands."""
    monkeypatch.chdir(tmp_path)
    for name in config.Settings.model_fields:
        monkeypatch.delenv(config.PREFIX + name.upper(), raising=False)
    monkeypatch.setenv("COLD_ACCESS_KEY", "the access key")
    monkeypatch.setenv("COLD_SECRET_KEY", "the secret key")

    def to_file(text: str) -> Path:
        path = tmp_path / "reaper.toml"
        path.write_text(text)
        return path

    return to_file


def complaint(*needed: str) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load_all(*needed)
    return caught.value.message


def test_backends_are_the_tables_of_the_file(write: Write) -> None:
    write(TWO)
    backends = config.load("backends").backends
    assert list(backends) == ["default", "cold"]
    assert (backends["default"].bucket, backends["default"].quota) == ("pastes", 500 * 1000**3)
    assert (backends["cold"].endpoint_url, backends["cold"].quota) == ("https://s3.example.org", None)
    assert (backends["cold"].content_md5, backends["cold"].single_deletes) == (True, True)


def test_the_file_may_lie_elsewhere_and_must_be_there_then(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REAPER_CONFIG", str(write(TWO).rename(tmp_path / "elsewhere.toml")))
    assert len(config.load_all("backends").backends) == 2
    monkeypatch.setenv("REAPER_CONFIG", "nowhere.toml")
    assert "nowhere.toml cannot be read: No such file" in complaint()


def test_without_a_file_there_is_the_one_of_the_variables(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert complaint("backends") == "REAPER_S3_BUCKET is not set"
    monkeypatch.setenv("REAPER_S3_BUCKET", "pastes")
    monkeypatch.setenv("REAPER_S3_CONTENT_MD5", "true")
    write("# nothing in it")
    backends = config.load_all("backends").backends
    assert list(backends) == ["default"]
    assert (backends["default"].bucket, backends["default"].content_md5) == ("pastes", True)


@pytest.mark.parametrize("name", ["REAPER_S3_BUCKET", "REAPER_S3_ENDPOINT_URL"])
def test_a_file_and_variables_together_are_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(TWO)
    monkeypatch.setenv(name, "http://pastes")
    assert f"names backends, but {name} is set too" in complaint("backends")


def test_every_problem_of_the_file_and_the_variables_is_reported_at_once(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAPER_BATCH_SIZE", "0")
    write("""
        colour = "blue"
        [backends."a b"]
        bucket = "x"
        [backends.one]
        endpoint_url = "s3.example.org"
        quota = "much"
        [backends.two]
        bucket = "y"
        bukket = "y"
        colour = "red"
        access_key_env = "NOT_SET"
        [backends.three]
        bucket = "z"
        access_key_env = "NOT_SET"
        secret_key_env = "COLD_SECRET_KEY"
        [backends.four]
        bucket = "z"
        quota = -1
        content_md5 = "maybe"
        profile = "p"
        [backends.five]
        bucket = "x"
    """)
    said = complaint("database_url", "backends")
    for problem in [
        "REAPER_BATCH_SIZE: must be between 1 and 10000",
        "REAPER_DATABASE_URL is not set",
        "colour is not known",
        "backends.a b: a name has letters",
        "backends.one.bucket is not set",
        "backends.one.endpoint_url: write a URL",
        "backends.one.quota: write a number and a unit",
        "backends.two.bukket is not known; did you mean bucket?",
        "backends.two.colour is not known; known keys: bucket, endpoint_url,",
        "backends.three.access_key_env names a variable that is not set",
        "backends.four.quota: must be between 0 bytes and 9000 PB",
        "backends.four.content_md5: write true or false",
        "backends.five has the same bucket as backends.a b",
    ]:
        assert problem in said


@pytest.mark.parametrize(
    "table",
    [
        'bucket = "x"\naccess_key_env = "AKIAS3CRET"\nsecret_key_env = "s3cret/key"',
        'bucket = "x"\nsecret_key = "s3cret"',
        'bucket = "x"\nendpoint_url = "ftp://me:s3cret@host"',
        'bucket = "x"\nquota = "s3cret"',
        "bucket = s3cret",
    ],
)
def test_no_complaint_shows_what_may_be_a_secret(write: Write, table: str) -> None:
    write(f"[backends.one]\n{table}")
    assert "s3cret" not in complaint("backends").lower()


@pytest.mark.parametrize(
    ("login", "problem"),
    [
        ('access_key_env = "COLD_ACCESS_KEY"', "must both be set"),
        ('profile = "p"\naccess_key_env = "A"\nsecret_key_env = "B"', "give either a profile or"),
    ],
)
def test_there_is_one_way_to_log_in(write: Write, login: str, problem: str) -> None:
    write(f'[backends.one]\nbucket = "x"\n{login}')
    assert problem in complaint("backends")


def test_one_of_them_is_where_content_lies_that_came_past_the_doors(write: Write) -> None:
    write('[backends.hot]\nbucket = "x"')
    assert "one backend must be called default" in complaint("backends")


def test_keys_come_from_the_environment_or_the_env_file_and_are_never_shown(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COLD_SECRET_KEY")
    write(TWO)
    (tmp_path / ".env").write_text("COLD_SECRET_KEY=from the file\nREAPER_DATABASE_URL=dbname=x\n")
    settings = config.load_all("backends", "database_url")
    assert settings.backends["cold"].login(settings.variables) == ("the access key", "from the file")
    assert settings.backends["default"].login(settings.variables) is None
    app = App(settings)
    stores = app.stores
    assert list(stores) == ["default", "cold"]
    assert len({id(bucket._requests._gate) for bucket in app.buckets.values()}) == 1, "one gate for all"
    assert "the" not in repr(settings) + repr(stores) + repr(app.settings.backends)


@pytest.mark.parametrize(("value", "fine"), [("1", True), ("0", False), ("many", False)])
def test_the_number_of_requests_at_a_time_is_limited(
    write: Write, monkeypatch: pytest.MonkeyPatch, value: str, fine: bool
) -> None:
    write("")
    assert config.load_all().max_concurrent_requests == 64
    monkeypatch.setenv("REAPER_MAX_CONCURRENT_REQUESTS", value)
    if fine:
        assert config.load_all().max_concurrent_requests == int(value)
    else:
        assert "REAPER_MAX_CONCURRENT_REQUESTS: " in complaint()


@pytest.mark.parametrize("written", ["team/pastes", "team/pastes/"])
def test_a_prefix_ends_in_a_slash_whether_one_is_written_or_not(
    write: Write, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("REAPER_S3_BUCKET", "shared")
    monkeypatch.setenv("REAPER_S3_PREFIX", written)
    assert config.load("backends").backends["default"].prefix == "team/pastes/"
    monkeypatch.delenv("REAPER_S3_PREFIX")
    assert config.load("backends").backends["default"].prefix == ""
    monkeypatch.delenv("REAPER_S3_BUCKET")
    write(f'[backends.default]\nbucket = "shared"\nprefix = "{written}"\n')
    assert config.load("backends").backends["default"].prefix == "team/pastes/"


@pytest.mark.parametrize("written", ["/", "/a", "a//b", "a/../b", ".", "a\\nb", "x" * 600])
def test_a_prefix_that_some_server_would_resolve_is_refused(write: Write, written: str) -> None:
    write(f'[backends.default]\nbucket = "shared"\nprefix = "{written}"\n')
    assert "backends.default.prefix: " in complaint("backends")


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [("a", "b", True), ("a/b", "a/c", True), ("a", "ab", True), ("a", "a/b", False), ("", "b", False)],
)
def test_two_backends_share_a_bucket_where_no_prefix_lies_within_the_other(
    write: Write, one: str, other: str, apart: bool
) -> None:
    table = '[backends.{}]\nbucket = "shared"\nprefix = "{}"\n'
    write(table.format("default", one) + table.format("cold", other))
    if apart:
        assert len(config.load("backends").backends) == 2
    else:
        assert "backends.cold has the same bucket as backends.default" in complaint("backends")
