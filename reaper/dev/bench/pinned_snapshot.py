"""Do claims take longer while another session keeps an old snapshot, so that dead rows cannot go?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.runner import Runner
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.side_by_side import Entry, run_rounds
from reaper.dev.bench.variants import DIRECT, MARK
from reaper.dev.bench.workload import Workload


@dataclass(frozen=True)
class Snapshots:
    """Drains of one worker, by direct release and by marking, without such a session and beside it."""

    direct: Rounds
    direct_pinned: Rounds
    mark: Rounds
    mark_pinned: Rounds

    @property
    def parts(self) -> tuple[tuple[str, Rounds], ...]:
        """Everything that was measured, by name."""
        return (
            ("direct, no snapshot pinned", self.direct),
            ("direct, snapshot pinned", self.direct_pinned),
            ("mark, no snapshot pinned", self.mark),
            ("mark, snapshot pinned", self.mark_pinned),
        )


def measure(runner: Runner, table: Workload, rounds: int) -> Snapshots:
    """Drain the same table with one worker, so that no claim waits for another."""
    entries = [
        entry
        for way, variant in (("direct", DIRECT[1]), ("mark", MARK[1]))
        for entry in (
            Entry(f"claims, {way}, no snapshot pinned", table, variant),
            Entry(f"claims, {way}, snapshot pinned", table, variant, pin_snapshot),
        )
    ]
    return Snapshots(*run_rounds(runner, entries, rounds))


def steps(rounds: int) -> int:
    """How many runs that are."""
    return 4 * rounds


@contextmanager
def pin_snapshot(addresses: Addresses) -> Iterator[None]:
    """A session that began before the drain and looks at the database as it was then."""
    with db.connect(addresses.dsn, "bench:pin", autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select count(*) from public.pastes")
        yield
