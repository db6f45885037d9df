"""Settings from REAPER_* variables or a `.env` file; every problem is reported at once, in plain words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from dotenv import dotenv_values
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from reaper.config.backends import DEFAULT_BACKEND, Backend, http_url, plain, read_backends, size
from reaper.db.connection import parse_dsn
from reaper.errors import ConfigError

PREFIX = "REAPER_"
ENV_FILE = ".env"
FILE = Path("reaper.toml")
# What may be needed and is no variable of its own.
BACKENDS = "backends"
_ONE_BACKEND = {"s3_bucket", "s3_endpoint_url", "s3_content_md5", "s3_single_deletes"}
_BEHIND_BACKENDS = _ONE_BACKEND | {"config"}
_UNITS = {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
_REDIS_SCHEMES = (
    *("redis", "rediss", "unix"),
    *("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"),
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?")


def parse_duration(text: str) -> timedelta:
    """The span that a text means; ValueError when it means none."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError("write a number and a unit: 500 ms, 30 s, 15 min, 2 h, 1 d")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2] or "s"])


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _dsn(value: SecretStr) -> SecretStr:
    try:
        parse_dsn(value.get_secret_value())
    except ConfigError as error:
        raise ValueError(f"{error.message}. {error.hint}") from None
    return value


def _redis_url(value: SecretStr) -> SecretStr:
    # Not parsed here: what is wrong with a URL is told by quoting it, password and all.
    if value.get_secret_value().partition("://")[0] not in _REDIS_SCHEMES:
        raise ValueError(
            f"write a URL that begins with one of {', '.join(s + '://' for s in _REDIS_SCHEMES)}"
        )
    return value


def _cache_key(value: str) -> str:
    if "{short_code}" not in value:
        raise ValueError("it must contain {short_code}, or all pastes would share one entry")
    return value


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Size = Annotated[int, BeforeValidator(size)]


class Settings(BaseSettings):
    """What a process is told at its start; what a DBA may tune at run time is in reaper.settings."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=ENV_FILE, env_ignore_empty=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: Annotated[SecretStr, AfterValidator(_dsn)] | None = None
    redis_url: Annotated[SecretStr, AfterValidator(_redis_url)] | None = None
    config: Path | None = None
    s3_bucket: str | None = None
    s3_endpoint_url: Annotated[str, AfterValidator(http_url)] | None = None
    s3_read_timeout: Annotated[Duration, Field(ge=timedelta(milliseconds=100), le=timedelta(minutes=5))] = (
        timedelta(seconds=10)
    )
    s3_content_md5: bool = False
    s3_single_deletes: bool = False
    max_concurrent_requests: Annotated[int, Field(ge=1, le=1000)] = 64
    cache_key: Annotated[str, AfterValidator(_cache_key)] = "{short_code}"
    cache_max_bytes: Annotated[Size, Field(ge=0, le=512 << 20)] = 1 << 20
    check_hashes: bool = True
    store_connections: Annotated[int, Field(ge=1, le=1000)] = 8
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = 1000
    rows_per_second: Annotated[int, Field(ge=1)] | None = None
    claim_lock_ttl: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(hours=1))] = timedelta(
        seconds=30
    )
    stuck_after: Annotated[Duration, Field(ge=timedelta(minutes=1))] = timedelta(hours=2)

    @property
    def dsn(self) -> str:
        """The database's address in the clear, for connecting and nothing else."""
        if self.database_url is None:
            raise ConfigError("REAPER_DATABASE_URL is not set", _HINT)
        return self.database_url.get_secret_value()

    @cached_property
    def backends(self) -> Mapping[str, Backend]:
        """Where objects lie, by name: those of reaper.toml, or the one of REAPER_S3_BUCKET, or none."""
        path = self.config or FILE
        told = read_backends(path, self.variables) if self.config or FILE.exists() else {}
        beside = sorted(_ONE_BACKEND & self.model_fields_set)
        if told and beside:
            raise ConfigError(
                f"{path} names backends, and {', '.join(map(_variable, beside))} would be one more",
                f"Unset it, or write it into {path} as [backends.{DEFAULT_BACKEND}].",
            )
        return told or self._from_variables()

    @property
    def variables(self) -> Mapping[str, str | None]:
        """The environment, and behind it the `.env` file: where backends name the variables of their keys."""
        return {**dotenv_values(ENV_FILE), **os.environ}

    def _from_variables(self) -> dict[str, Backend]:
        if self.s3_bucket is None:
            return {}
        backend = Backend(
            bucket=self.s3_bucket,
            endpoint_url=self.s3_endpoint_url,
            content_md5=self.s3_content_md5,
            single_deletes=self.s3_single_deletes,
        )
        return {DEFAULT_BACKEND: backend}


_HINT = "Set it in the environment or in a .env file, for example REAPER_DATABASE_URL=postgresql://user@host/database"


def load_all(*needed: str, **given: Any) -> Settings:
    """The settings for whoever works with everything: each must be right, those in `needed` must be there.

    Nothing that was set falls back to a default: a mistyped endpoint would lead to somebody else's bucket.
    """
    return _load(needed, (*Settings.model_fields, BACKENDS), given)


def load(*uses: str, **given: Any) -> Settings:
    """The settings; those named in `uses` must be there and right. `given` values go before the environment.

    A command asks only for what it uses: what is wrong elsewhere does not concern it.
    """
    return _load(uses, uses, given)


def _load(needed: Sequence[str], judged: Collection[str], given: Mapping[str, Any]) -> Settings:
    settings, problems = _read({name: value for name, value in given.items() if value is not None})
    judged = {*judged, *(_BEHIND_BACKENDS if BACKENDS in judged else ())}
    wrong = [f"{_variable(name)}: {text}" for name, text in problems.items() if name in judged]
    hint, backends = None, None
    if BACKENDS in judged:
        try:
            backends = settings.backends
        except ConfigError as error:
            wrong.append(error.message)
            hint = error.hint
    missing = [
        _variable(n) for n in needed if n != BACKENDS and n not in problems and getattr(settings, n) is None
    ]
    if BACKENDS in needed and backends == {} and "s3_bucket" not in problems:
        missing.append(_variable("s3_bucket"))
    if wrong or missing:
        raise ConfigError("; ".join(wrong + [f"{n} is not set" for n in missing]), _HINT if missing else hint)
    return settings


def _read(given: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
    """The settings, and what is wrong with those that had to be replaced by their defaults."""
    try:
        return Settings(**given), {}
    except ValidationError as error:
        problems = {
            str(e["loc"][0]): plain(e["msg"]) for e in error.errors(include_input=False, include_url=False)
        }
        defaults = {name: Settings.model_fields[name].default for name in problems}
        return Settings(**{**given, **defaults}), problems


def _variable(name: str) -> str:
    return PREFIX + name.upper()
