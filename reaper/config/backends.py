"""The places where objects lie, as a process is told of them: `reaper.toml`, one table for each.

    [backends.default]
    bucket = "pastes"
    quota = "500 GB"

    [backends.cold]
    bucket = "pastes-cold"
    endpoint_url = "https://s3.example.org"
    access_key_env = "COLD_ACCESS_KEY"
    secret_key_env = "COLD_SECRET_KEY"

The file has no secrets, only the names of variables that hold them; a message quotes neither.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from reaper.errors import ConfigError

# Where content lies that an application wrote by itself, past the doors.
DEFAULT_BACKEND = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgtp]?)(i?)b)?", re.IGNORECASE)
_POWERS = ("", "k", "m", "g", "t", "p")
_LARGEST = 2**63 - 1


def parse_size(text: str) -> int:
    """The bytes that a text means, 1 kB being 1000 and 1 KiB 1024; ValueError when it means none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("write a number and a unit: 800 MB, 500 GB, 2 TB, or 500 GiB in powers of 1024")
    unit = Decimal(1024 if match[3] else 1000) ** _POWERS.index((match[2] or "").lower())
    return round(Decimal(match[1]) * unit)


def size(value: object) -> object:
    """The bytes that a setting means, where it is a text."""
    return parse_size(value) if isinstance(value, str) else value


def http_url(value: str) -> str:
    """The same, if it is the address of a server; else ValueError."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("write a URL that begins with http:// or https://")
    return value


class Backend(BaseModel):
    """One bucket, how to reach it, and how many bytes it may hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bucket: Annotated[str, Field(min_length=1)]
    endpoint_url: Annotated[str, AfterValidator(http_url)] | None = None
    quota: Annotated[int, BeforeValidator(size), Field(ge=0, le=_LARGEST)] | None = None
    profile: str | None = None
    access_key_env: str | None = None
    secret_key_env: str | None = None
    content_md5: bool = False
    single_deletes: bool = False

    @model_validator(mode="after")
    def _one_way_to_log_in(self) -> Self:
        if (self.access_key_env is None) != (self.secret_key_env is None):
            raise ValueError("access_key_env and secret_key_env belong together")
        if self.profile is not None and self.access_key_env is not None:
            raise ValueError("give either a profile or access_key_env and secret_key_env")
        return self

    def login(self, variables: Mapping[str, str | None]) -> tuple[str, str] | None:
        """The keys that its variables hold; None where credentials come the usual AWS way."""
        if self.access_key_env is None or self.secret_key_env is None:
            return None
        return variables.get(self.access_key_env) or "", variables.get(self.secret_key_env) or ""


def read_backends(path: Path, variables: Mapping[str, str | None]) -> dict[str, Backend]:
    """The backends of a file by name; ConfigError with all that is wrong in it."""
    problems: list[str] = []
    backends: dict[str, Backend] = {}
    for name, table in _tables(path, problems).items():
        try:
            backends[name] = Backend.model_validate(table)
        except ValidationError as error:
            problems += [f"backends.{name}{_told(e)}" for e in error.errors(include_input=False)]
        else:
            problems += [f"backends.{name}.{text}" for text in _unset(backends[name], variables)]
    problems += _shared(backends)
    if backends and DEFAULT_BACKEND not in backends:
        problems.append("one backend must be called default: content that came past the doors lies there")
    if problems:
        raise ConfigError("; ".join(f"{path}: {problem}" for problem in problems))
    return backends


def _tables(path: Path, problems: list[str]) -> dict[str, Any]:
    document = _document(path)
    problems += [
        f"{name} is not known; backends are tables [backends.NAME]" for name in document if name != "backends"
    ]
    tables = document.get("backends", {})
    if not isinstance(tables, dict):
        problems.append("backends must be tables [backends.NAME]")
        return {}
    problems += [
        f"backends.{name}: a name has letters, digits, dots, dashes and underscores, 63 at most"
        for name in tables
        if not _NAME.fullmatch(name)
    ]
    return tables


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None


def _told(error: Any) -> str:
    where = "".join(f".{part}" for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{where} is not known; there are {', '.join(Backend.model_fields)}"
    if error["type"] == "missing":
        return f"{where} is not set"
    return f"{where}: {plain(error['msg'])}"


def plain(message: str) -> str:
    """What pydantic says, in the words of the other messages."""
    return message.removeprefix("Value error, ").removeprefix("Input ").replace("should be", "must be")


def _unset(backend: Backend, variables: Mapping[str, str | None]) -> list[str]:
    # Not quoted: whoever wrote the key itself instead of a name would read it in a log.
    named = {"access_key_env": backend.access_key_env, "secret_key_env": backend.secret_key_env}
    return [
        f"{field} names a variable that is not set"
        for field, name in named.items()
        if name is not None and not variables.get(name)
    ]


def _shared(backends: Mapping[str, Backend]) -> list[str]:
    """Two names for one bucket would be two copies that are one."""
    first: dict[tuple[str | None, str], str] = {}
    problems = []
    for name, backend in backends.items():
        other = first.setdefault((backend.endpoint_url, backend.bucket), name)
        if other != name:
            problems.append(f"backends.{name} has the bucket of backends.{other}")
    return problems
