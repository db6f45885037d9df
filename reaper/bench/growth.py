"""Does a row cost the same in a large table, and while somebody else keeps an old snapshot?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.bench.entries import DATABASE
from reaper.bench.place import Place
from reaper.bench.tournament import Run, Tournament
from reaper.bench.workload import Workload

DUE_SHARE = 0.9


@dataclass(frozen=True)
class Growth:
    """One drain per size, and two of one size: with and without a pinned snapshot."""

    sizes: tuple[Run, ...]
    free: Run
    pinned: Run


def measure(tournament: Tournament, sizes: Sequence[int], pinned: Workload) -> Growth:
    """Drain tables of each size with one worker, so that no claim waits for another."""
    drained = tuple(_drained(tournament, due) for due in sizes)
    tournament.announce("claims without a pinned snapshot")
    free = tournament.run(pinned, DATABASE[1])
    tournament.announce("claims while a snapshot is pinned")
    return Growth(drained, free, tournament.run(pinned, DATABASE[1], beside=pin_snapshot))


def _drained(tournament: Tournament, due: int) -> Run:
    workload = Workload(f"{due:,} due rows", round(due / DUE_SHARE), due_share=DUE_SHARE)
    tournament.announce(f"growth: {workload.name}")
    try:
        return tournament.run(workload, DATABASE[1])
    finally:
        tournament.arena.forget(workload)


@contextmanager
def pin_snapshot(place: Place) -> Iterator[None]:
    """A session that began before the drain and looks at the database as it was then."""
    with db.connect(place.dsn, "bench:pin", autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select count(*) from public.pastes")
        yield
