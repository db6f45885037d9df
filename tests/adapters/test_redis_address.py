"""What REAPER_REDIS_URL may say, and that it is never repeated."""

import traceback

import pytest

from reaper.cache.redis import address
from reaper.config import load
from reaper.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("redis://cache", "cache:6379"),
        ("redis://user:pass%2Fword@cache:6380/3", "cache:6380"),
        ("rediss://cache/0?ssl_cert_reqs=none", "cache:6379"),
        ("unix:///run/redis.sock?db=2", "/run/redis.sock"),
        ("redis+sentinel://:secret@a:1,b,[::1]:3/pastes/4", "a:1,b:26379,::1:3 (pastes)"),
        ("rediss+sentinel://a/pastes", "a:26379 (pastes)"),
        ("redis+cluster://user:secret@a:1,b", "a:1,b:6379"),
        ("rediss+cluster://a/0", "a:6379"),
    ],
)
def test_an_address_is_read_and_shown_without_its_login(url, where, monkeypatch):
    read = address.read(url)
    assert read.where == where
    assert "secret" not in repr(read)
    monkeypatch.setenv("REAPER_REDIS_URL", url)
    assert load("redis_url").redis_url.get_secret_value() == url


def test_the_login_and_the_options_reach_every_kind_of_client():
    single = address.read("redis://user:pass%2Fword@cache:6380/3?client_name=reaper")
    wanted = {"username": "user", "password": "pass/word", "db": 3, "client_name": "reaper"}
    assert single.login == {**wanted, "host": "cache", "port": 6380}
    sentinel = address.read(
        "rediss+sentinel://user:pass%2Fword@a/pastes/3?client_name=reaper&sentinel_password=other"
    )
    assert (sentinel.login, sentinel.sentinel_login) == ({**wanted, "ssl": True}, {"password": "other"})
    assert address.read("redis+cluster://:word@a").login == {"password": "word"}


@pytest.mark.parametrize(
    "url",
    [
        "http://canary",
        "canary",
        "redis://user:canary/slash@host",
        "redis://host:canary",
        "redis://host/0?canary=1",
        "redis://host/0?socket_timeout=canary",
        "redis+sentinel://canary",
        "redis+sentinel:///canary",
        "redis+sentinel://canary:port/pastes",
        "redis+cluster://canary/3",
        "redis+canary://host",
        "redis://user:canary\u2100@host",
    ],
)
def test_a_url_that_cannot_be_read_is_not_repeated(url):
    with pytest.raises(ConfigError, match="REAPER_REDIS_URL is not a valid Redis URL") as caught:
        address.read(url)
    assert "redis://user:password@host" in caught.value.hint
    assert "canary" not in "".join(traceback.format_exception(caught.value)).replace(url, "")


@pytest.mark.parametrize("url", ["memcached://canary", "canary", "memcached://user:canary\u2100@host"])
def test_a_scheme_that_is_none_of_ours_is_refused_with_the_settings(monkeypatch, url):
    monkeypatch.setenv("REAPER_REDIS_URL", url)
    with pytest.raises(ConfigError, match=r"REAPER_REDIS_URL: .*redis\+sentinel://") as caught:
        load("redis_url")
    assert "canary" not in caught.value.message
