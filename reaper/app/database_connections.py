"""The connections of a process to PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Self

from reaper import db
from reaper.app.replaced_parts import Parts
from reaper.config import Settings
from reaper.db.async_rows import AsyncConnection
from reaper.db.reconnecting_session import Session
from reaper.expiry.held_batches import HeldBatches
from reaper.queries import Queries
from reaper.queries.base import Intercept
from reaper.telemetry import spans
from reaper.telemetry.events import Telemetry
from reaper.worker.heartbeat import worker_name


@dataclass
class Connections:
    """A process and its connections; each is named after the slot that uses it."""

    settings: Settings
    parts: Parts = field(default_factory=Parts)
    worker: str = field(default_factory=worker_name)
    stop: threading.Event = field(default_factory=threading.Event)
    held: HeldBatches = field(default_factory=HeldBatches)
    # PostgreSQL has answered this process: from then on its absence is an interruption.
    answered: threading.Event = field(default_factory=threading.Event)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up every connection."""
        self._open.close()

    @cached_property
    def telemetry(self) -> Telemetry:
        """What this process counts and logs."""
        return self.parts.telemetry or Telemetry(self.worker)

    def connect(self, slot: str) -> db.Connection:
        """A connection that decides under read committed, whatever the database's default is."""
        return db.connect(self.settings.dsn, f"reaper:{slot}")

    @cached_property
    def _intercept(self) -> Intercept:
        return spans.around_queries(self.parts.intercept)

    def bind(self, connection: db.Connection) -> Queries:
        """What can be asked on a connection."""
        return Queries(connection, self._intercept)

    def bind_awaited(self, connection: AsyncConnection) -> Queries:
        """What can be asked on an asyncio connection."""
        return Queries.awaited(connection, spans.around_awaited_queries(self.parts.intercept))

    @contextmanager
    def asking(self, slot: str) -> Iterator[Queries]:
        """Questions on a connection that is closed after the block."""
        with self.connect(slot) as connection:
            yield self.bind(connection)

    def session(self, slot: str) -> Session[Queries]:
        """A connection that comes back by itself; what we then hold without knowing it is let go."""
        return self._open.enter_context(self.open_session(slot))

    @contextmanager
    def open_session(self, slot: str) -> Iterator[Session[Queries]]:
        """A session that is closed after the block."""
        session = Session(
            lambda: self._connect_lazily(slot),
            self.bind,
            lambda q: q.return_unknown_batches(self.worker, self.held.known()),
            answered=self.answered,
        )
        try:
            yield session
        finally:
            session.close()

    def _connect_lazily(self, slot: str, custom_plans: bool = False) -> db.Connection:
        """A connection whose commits wait for no disk: what a crash undoes is simply done again.

        The commits that something outside follows from make themselves durable: see docs/decisions/0006.
        """
        connection = self.connect(slot)
        with db.translated():
            connection.execute("set synchronous_commit = off")
            if custom_plans:
                connection.execute("set plan_cache_mode = force_custom_plan")
        return connection
