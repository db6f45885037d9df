"""What a setting may be: its type, its bounds, and the words for what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

from reaper.config.units import parse_duration, parse_size
from reaper.db.connection import parse_dsn
from reaper.errors import ConfigError

_REDIS_SCHEMES = (
    *("redis", "rediss", "unix"),
    *("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"),
)
# S3 takes keys of up to 1024 bytes.
LONGEST_PREFIX = 512
# By the first word of the type that pydantic gives an error.
_WANTED = {
    "int": "write a whole number",
    "bool": "write true or false",
    "time": "write a number and a unit: 500 ms, 30 s, 15 min, 2 h, 1 d",
    "string": "write a text",
    "path": "write the path of a file",
}


class _Ordered(Protocol):
    def __lt__(self, other: Self, /) -> bool: ...


_Value = TypeVar("_Value", bound=_Ordered)


def _read_duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _read_size(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


def _url_of_http(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("write a URL that begins with http:// or https://")
    return value


def _folder_of_keys(value: str) -> str:
    """A prefix as it stands before every key; the last slash may be left out."""
    folder = value.removesuffix("/")
    if not value:
        return ""
    if any(part in ("", ".", "..") for part in folder.split("/")) or not folder.isprintable():
        raise ValueError("write folders with single slashes between them, such as team/pastes/")
    if len(folder.encode()) > LONGEST_PREFIX:
        raise ValueError(f"must have at most {LONGEST_PREFIX} bytes, or no key fits behind it")
    return f"{folder}/"


def _address_of_database(value: SecretStr) -> SecretStr:
    try:
        parse_dsn(value.get_secret_value())
    except ConfigError as error:
        raise ValueError(f"{error.message}. {error.hint}") from None
    return value


def _url_of_redis(value: SecretStr) -> SecretStr:
    # Not parsed here: what is wrong with a URL is told by quoting it, password and all.
    if value.get_secret_value().partition("://")[0] not in _REDIS_SCHEMES:
        raise ValueError(
            f"write a URL that begins with one of {', '.join(s + '://' for s in _REDIS_SCHEMES)}"
        )
    return value


def _name_of_cache_entry(value: str) -> str:
    if "{short_code}" not in value:
        raise ValueError("must contain {short_code}, or all pastes would share one cache entry")
    return value


Duration = Annotated[timedelta, BeforeValidator(_read_duration)]
Size = Annotated[int, BeforeValidator(_read_size)]
KeyPrefix = Annotated[str, AfterValidator(_folder_of_keys)]
HttpUrl = Annotated[str, AfterValidator(_url_of_http)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_address_of_database)]
RedisUrl = Annotated[SecretStr, AfterValidator(_url_of_redis)]


def _plain_name(value: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", value):
        raise ValueError("must be a name of lower-case letters, digits and underscores")
    return value


CacheKey = Annotated[str, AfterValidator(_name_of_cache_entry)]
SchemaName = Annotated[str, AfterValidator(_plain_name)]


def numbers(least: int, most: int | None = None) -> AfterValidator:
    """Whole numbers within bounds."""
    return _bounds(str(least), None if most is None else str(most), int)


def durations(least: str, most: str | None = None) -> AfterValidator:
    """Durations within bounds, which messages quote as they are written here."""
    return _bounds(least, most, parse_duration)


def sizes(least: str, most: str) -> AfterValidator:
    """Sizes within bounds, which messages quote as they are written here."""
    return _bounds(least, most, parse_size)


def _bounds(least: str, most: str | None, read: Callable[[str], _Value]) -> AfterValidator:
    lowest, highest = read(least), None if most is None else read(most)
    allowed = f"must be at least {least}" if most is None else f"must be between {least} and {most}"

    def check(value: _Value) -> _Value:
        if value < lowest or (highest is not None and highest < value):
            raise ValueError(allowed)
        return value

    return AfterValidator(check)


def plain(error: Mapping[str, Any]) -> str:
    """What one error of pydantic says, in words that know nothing of Python."""
    wanted = _WANTED.get(str(error["type"]).partition("_")[0])
    return wanted or str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ").replace(
        "should be", "must be"
    )
