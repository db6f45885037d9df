"""A client in any language: a loop of reaper's SQL functions over one connection, and nothing else.

Everything outside counts as deleted, so it is to the database what a worker is. Unlike a worker it waits for
every commit, and for the settlement of one batch before it claims the next.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

BATCH = 1000
START: tuple[object, ...] = ("-infinity", None)
_CLAIM = "select batch_id, last_expires_at, last_short_code from reaper.claim_expired(%s, %s, %s, %s)"
_DROP = "select * from reaper.drop_references(%s)"
_REAP = "select batch_id, last_expires_at, last_short_code from reaper.reap_expired(%s, %s, %s, %s)"
_FINISH = "select rows_deleted from reaper.finish_batch(%s, '[]')"


@dataclass(frozen=True)
class PlainSqlClient:
    """Claim, drop, finish, or with direct release reap and finish, until nothing is due."""

    direct: bool = False
    promise: Promise = Promise.DATABASE
    needs: Needs = Needs.DATABASE
    sample: int | None = None

    @property
    def name(self) -> str:
        """How tables and results call it."""
        return "reaper, plain SQL client, direct" if self.direct else "reaper, plain SQL client"

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """One connection."""
        with db.connect(addresses.dsn, "bench:client") as connection:
            client = Client(connection, self.direct)
            yield lambda: Work(client.run())


class Client:
    """One session with a name of its own."""

    def __init__(self, connection: Connection, direct: bool, batch_size: int = BATCH) -> None:
        self._connection = connection
        self._batch_size = batch_size
        self._direct = direct
        self._worker = f"bench:{os.getpid()}:{connection.info.backend_pid}"

    def run(self) -> int:
        """Batch after batch; only a claim from the start that finds nothing ends the loop."""
        rows, after = 0, START
        while (claim := self._claim(after)) or after != START:
            if claim is None:
                after = START
                continue
            batch_id, *position = claim
            after = tuple(position)
            rows += self._release(batch_id)
        return rows

    def _claim(self, after: tuple[object, ...]) -> tuple[UUID, object, object] | None:
        statement = _REAP if self._direct else _CLAIM
        return self._connection.execute(statement, (self._batch_size, self._worker, *after)).fetchone()

    def _release(self, batch_id: UUID) -> int:
        """What was deleted in the end; a reaped batch is released already."""
        if not self._direct:
            self._connection.execute(_DROP, (batch_id,)).fetchall()
        row = self._connection.execute(_FINISH, (batch_id,)).fetchone()
        return int(row[0]) if row else 0
