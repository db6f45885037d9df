"""PostgreSQL, Valkey and S3 for `demo`, `test` and `bench`; nothing of them outlives this process."""

from reaper.embedded.errors import EmbeddedError
from reaper.embedded.postgres import Postgres
from reaper.embedded.s3 import Moto
from reaper.embedded.stack import Stack
from reaper.embedded.valkey import Valkey

__all__ = ["EmbeddedError", "Moto", "Postgres", "Stack", "Valkey"]
