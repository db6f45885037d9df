"""Does a row cost the same in a large table, and while somebody else keeps an old snapshot?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.bench.entries import DATABASE, FLOOR
from reaper.bench.place import Place
from reaper.bench.tournament import Entry, Run, Tournament
from reaper.bench.workload import Order, Workload

DUE_SHARE = 0.9


@dataclass(frozen=True)
class Growth:
    """A drain per size, in both orders and by the floor; and one with and one without a pinned snapshot."""

    sizes: tuple[Run, ...]
    in_cohorts: tuple[Run, ...]
    floors: tuple[Run, ...]
    free: Run
    pinned: Run


def measure(tournament: Tournament, sizes: Sequence[int], pinned: Workload) -> Growth:
    """Drain tables of each size with one worker, so that no claim waits for another."""
    drained = [_drained(tournament, _table(due, Order.RANDOM), DATABASE[1], FLOOR) for due in sizes]
    in_cohorts = [_drained(tournament, _table(due, Order.COHORT), DATABASE[1]) for due in sizes]
    tournament.announce("claims without a pinned snapshot")
    free = tournament.run(pinned, DATABASE[1])
    tournament.announce("claims while a snapshot is pinned")
    held = tournament.run(pinned, DATABASE[1], beside=pin_snapshot)
    ours, floors = zip(*drained, strict=True)
    return Growth(ours, tuple(run for (run,) in in_cohorts), floors, free, held)


def _table(due: int, order: Order) -> Workload:
    return Workload(f"{due:,} due rows, {order.value}", round(due / DUE_SHARE), order, DUE_SHARE)


def _drained(tournament: Tournament, workload: Workload, *entries: Entry) -> list[Run]:
    tournament.announce(f"growth: {workload.name}")
    try:
        return [tournament.run(workload, entry) for entry in entries]
    finally:
        tournament.arena.forget(workload)


@contextmanager
def pin_snapshot(place: Place) -> Iterator[None]:
    """A session that began before the drain and looks at the database as it was then."""
    with db.connect(place.dsn, "bench:pin", autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select count(*) from public.pastes")
        yield
