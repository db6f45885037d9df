"""Settings from REAPER_* variables or a `.env` file; every problem is reported at once, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from reaper.config.backends import DEFAULT_BACKEND, Backend, read_backends
from reaper.config.fields import (
    CacheKey,
    DatabaseUrl,
    Duration,
    HttpUrl,
    KeyPrefix,
    RedisUrl,
    SchemaName,
    Size,
    durations,
    numbers,
    sizes,
)
from reaper.config.tables import Names, read_tables
from reaper.config.variables import ENV_FILE, PREFIX, read_variables, variable_of
from reaper.errors import ConfigError

FILE = Path("reaper.toml")
# What one backend is made of, where no file names several.
ONE_BACKEND = frozenset({"s3_bucket", "s3_endpoint_url", "s3_prefix", "s3_content_md5", "s3_single_deletes"})
HINT = "Set it in the environment or in a .env file, for example REAPER_DATABASE_URL=postgresql://user@host/database"


class Settings(BaseSettings):
    """What a process is told at its start; what a DBA may tune at run time is in reaper.settings."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=ENV_FILE, env_ignore_empty=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: DatabaseUrl | None = None
    redis_url: RedisUrl | None = None
    queue_schema: SchemaName | None = None
    config: Path | None = None
    s3_bucket: str | None = None
    s3_endpoint_url: HttpUrl | None = None
    s3_prefix: KeyPrefix = ""
    s3_read_timeout: Annotated[Duration, durations("100 ms", "5 min")] = timedelta(seconds=10)
    s3_content_md5: bool = False
    s3_single_deletes: bool = False
    max_concurrent_requests: Annotated[int, numbers(1, 1000)] = 64
    cache_key: CacheKey = "{short_code}"
    cache_max_bytes: Annotated[Size, sizes("0 bytes", "512 MiB")] = 1 << 20
    check_hashes: bool = True
    store_connections: Annotated[int, numbers(1, 1000)] = 8
    # Where these two are not set, reaper.settings says it.
    batch_size: Annotated[int, numbers(1, 10_000)] | None = None
    rows_per_second: Annotated[int, numbers(1)] | None = None
    claim_lock_ttl: Annotated[Duration, durations("1 s", "1 h")] = timedelta(seconds=30)
    allow_private_webhooks: bool = False
    health_address: str = "127.0.0.1"
    stuck_after: Annotated[Duration, durations("1 min")] = timedelta(hours=2)
    # The page of operators: who may see it where it listens beyond this host, the names it is asked by, and
    # the proxies that are believed when they say who asks.
    web_password: SecretStr | None = None
    web_hosts: str = ""
    web_proxies: str = ""

    @property
    def dsn(self) -> str:
        """The database's address in the clear, for connecting and nothing else."""
        if self.database_url is None:
            raise ConfigError("REAPER_DATABASE_URL is not set", HINT)
        return self.database_url.get_secret_value()

    @property
    def file(self) -> Path | None:
        """The file that names backends: the one of REAPER_CONFIG, else the usual one if it is there."""
        return self.config or (FILE if FILE.exists() else None)

    @cached_property
    def backends(self) -> Mapping[str, Backend]:
        """Where objects lie, by name: those of reaper.toml, or the one of REAPER_S3_BUCKET, or none."""
        told = read_backends(self.file, self.variables) if self.file else {}
        beside = sorted(ONE_BACKEND & self.model_fields_set)
        if told and beside:
            raise ConfigError(
                f"{self.file} names backends, but {', '.join(map(variable_of, beside))} is set too",
                f"Unset the variable, or write it into {self.file} as [backends.{DEFAULT_BACKEND}].",
            )
        return told or self._from_variables()

    @property
    def tables(self) -> Names:
        """Which tables of the application are bound, as far as reaper.toml says."""
        return read_tables(self.file)

    @property
    def variables(self) -> Mapping[str, str | None]:
        """Where backends name the variables of their keys."""
        return read_variables()

    def _from_variables(self) -> dict[str, Backend]:
        if self.s3_bucket is None:
            return {}
        backend = Backend(
            bucket=self.s3_bucket,
            endpoint_url=self.s3_endpoint_url,
            prefix=self.s3_prefix,
            content_md5=self.s3_content_md5,
            single_deletes=self.s3_single_deletes,
        )
        return {DEFAULT_BACKEND: backend}
