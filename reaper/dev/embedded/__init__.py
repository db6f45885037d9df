"""PostgreSQL, Valkey and S3 for `demo`, `test` and `bench`; nothing of them outlives this process."""

from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.moto import Moto
from reaper.dev.embedded.postgres import Postgres
from reaper.dev.embedded.stack import Stack
from reaper.dev.embedded.valkey import Valkey

__all__ = ["EmbeddedError", "Moto", "Postgres", "Stack", "Valkey"]
