"""The first thing that comes to mind: one paste after the other, a transaction each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

PAGE = 1000
_DUE = "select short_code from public.pastes where expires_at <= now() order by expires_at limit %s"
_DELETE_PASTE = "delete from public.pastes where short_code = %s returning content_hash"
_SUBTRACT = "update public.content set ref_count = ref_count - 1 where content_hash = %s returning ref_count"
_DELETE_CONTENT = "delete from public.content where content_hash = %s and ref_count = 0"


@dataclass(frozen=True)
class RowByRow:
    """Database only; stops after a sample."""

    sample: int | None = 5000
    name: str = "row by row"
    promise: Promise = Promise.DATABASE
    needs: Needs = Needs.DATABASE

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """One connection."""
        with db.connect(addresses.dsn, "bench:rows") as connection:
            yield lambda: Work(_run(connection, self.sample or addresses.workload.due))


def _run(connection: Connection, wanted: int) -> int:
    done = 0
    while done < wanted:
        codes = connection.execute(_DUE, (min(PAGE, wanted - done),)).fetchall()
        if not codes:
            break
        for (code,) in codes:
            delete_one(connection, code)
        done += len(codes)
    return done


def delete_one(connection: Connection, code: str) -> None:
    """One paste and its reference, in one transaction."""
    with connection.transaction():
        gone = connection.execute(_DELETE_PASTE, (code,)).fetchone()
        if gone is None:
            return
        left = connection.execute(_SUBTRACT, gone).fetchone()
        if left and left[0] == 0:
            connection.execute(_DELETE_CONTENT, gone)
