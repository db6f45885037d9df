"""The backends, the places where objects are stored, from `reaper.toml`: one table for each.

    [backends.default]
    bucket = "pastes"
    quota = "500 GB"

    [backends.cold]
    bucket = "pastes-cold"
    prefix = "team/pastes/"
    endpoint_url = "https://s3.example.org"
    access_key_env = "COLD_ACCESS_KEY"
    secret_key_env = "COLD_SECRET_KEY"

The file has no secrets, only the names of variables that hold them; a message quotes neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reaper.config.fields import HttpUrl, KeyPrefix, Size, numbers, plain, sizes
from reaper.config.toml_file import PARTS, read_toml
from reaper.config.variables import did_you_mean
from reaper.errors import ConfigError

# Where content lies that an application wrote by itself, past the doors.
DEFAULT_BACKEND = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


class Backend(BaseModel):
    """One bucket, how to reach it, and how many bytes it may hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bucket: Annotated[str, Field(min_length=1)]
    endpoint_url: HttpUrl | None = None
    # Below this lie all objects of the backend; the database does not know it.
    prefix: KeyPrefix = ""
    # PostgreSQL counts bytes in a bigint.
    quota: Annotated[Size, sizes("0 bytes", "9000 PB")] | None = None
    # What it may be used for in a month (UTC).
    monthly_requests: Annotated[int, numbers(0, 10**17)] | None = None
    monthly_ingress: Annotated[Size, sizes("0 bytes", "90 PB")] | None = None
    monthly_egress: Annotated[Size, sizes("0 bytes", "90 PB")] | None = None
    profile: str | None = None
    access_key_env: str | None = None
    secret_key_env: str | None = None
    content_md5: bool = False
    single_deletes: bool = False

    @model_validator(mode="after")
    def _one_way_to_log_in(self) -> Self:
        if (self.access_key_env is None) != (self.secret_key_env is None):
            raise ValueError("access_key_env and secret_key_env must both be set")
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
        problems.append(
            "one backend must be called default: it holds the content that applications store by themselves"
        )
    if problems:
        raise ConfigError("; ".join(f"{path}: {problem}" for problem in problems))
    return backends


def variables_named_in(path: Path) -> set[str]:
    """The variables that a file says hold keys; of a file that cannot be understood, none."""
    try:
        tables = read_toml(path).get("backends", {}).values()
        named = [table.get(field) for table in tables for field in ("access_key_env", "secret_key_env")]
    except (AttributeError, ConfigError):
        return set()
    return {name for name in named if isinstance(name, str)}


def _tables(path: Path, problems: list[str]) -> dict[str, Any]:
    document = read_toml(path)
    problems += [
        f"{name} is not known; backends are tables [backends.NAME], the application's tables [tables.NAME]"
        for name in document
        if name not in PARTS
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


def _told(error: Any) -> str:
    where = "".join(f".{part}" for part in error["loc"])
    if error["type"] == "extra_forbidden":
        meant = did_you_mean(str(error["loc"][-1]), Backend.model_fields, close=0.6)
        known = f"did you mean {meant}?" if meant else f"known keys: {', '.join(Backend.model_fields)}"
        return f"{where} is not known; {known}"
    if error["type"] == "missing":
        return f"{where} is not set"
    return f"{where}: {plain(error)}"


def _unset(backend: Backend, variables: Mapping[str, str | None]) -> list[str]:
    # The value is not quoted: it may be the secret key itself, written there by mistake.
    named = {"access_key_env": backend.access_key_env, "secret_key_env": backend.secret_key_env}
    return [
        f"{field} names a variable that is not set"
        for field, name in named.items()
        if name is not None and not variables.get(name)
    ]


def _shared(backends: Mapping[str, Backend]) -> list[str]:
    """Two names for one place would be two copies that are one; a place within another, objects of both."""
    seen: dict[str, Backend] = {}
    problems = []
    for name, backend in backends.items():
        other = next((n for n, b in seen.items() if _overlap(b, backend)), None)
        if other is not None:
            problems.append(
                f"backends.{name} has the same bucket as backends.{other};"
                " give each a prefix of its own, none within the other"
            )
        seen[name] = backend
    return problems


def _overlap(one: Backend, other: Backend) -> bool:
    if (one.endpoint_url, one.bucket) != (other.endpoint_url, other.bucket):
        return False
    return one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix)
