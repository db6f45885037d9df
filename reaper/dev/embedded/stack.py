"""All that reaper needs to run, started together."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from reaper.dev.embedded.moto import Moto
from reaper.dev.embedded.postgres import Postgres
from reaper.dev.embedded.valkey import Valkey


class Stack:
    """PostgreSQL, Valkey and S3; leaving the context stops all, and so does one that does not start."""

    postgres: Postgres
    valkey: Valkey
    s3: Moto

    def __init__(self, *, durable: bool = False) -> None:
        self._durable = durable
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            self.postgres = starting.enter_context(Postgres.start(durable=self._durable))
            self.valkey = starting.enter_context(Valkey.start())
            self.s3 = starting.enter_context(Moto.start())
            self._exits = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()
