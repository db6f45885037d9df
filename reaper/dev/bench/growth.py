"""Does a row cost the same in a large table, and while somebody else keeps an old snapshot?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.dev.bench.entries import DATABASE, FLOOR
from reaper.dev.bench.place import Place
from reaper.dev.bench.rounds import Rounds
from reaper.dev.bench.tournament import Beside, Entry, Run, Tournament, nothing
from reaper.dev.bench.workload import Order, Workload

DUE_SHARE = 0.9


@dataclass(frozen=True)
class Growth:
    """A drain per size, in both orders, ours and the floor's; and with and without a pinned snapshot."""

    sizes: tuple[Rounds, ...]
    in_cohorts: tuple[Rounds, ...]
    floors: tuple[Rounds, ...]
    free: Rounds
    pinned: Rounds

    @property
    def parts(self) -> tuple[Rounds, ...]:
        """Everything that was measured."""
        return (*self.sizes, *self.in_cohorts, *self.floors, self.free, self.pinned)


def measure(tournament: Tournament, sizes: Sequence[int], pinned: Workload, rounds: int) -> Growth:
    """Drain tables of each size with one worker, so that no claim waits for another."""
    ours, claims = DATABASE[1], (("no snapshot is pinned", nothing), ("a snapshot is pinned", pin_snapshot))
    with _loaded(tournament, sizes, Order.RANDOM) as tables:
        grown = _rounds([[_drain(tournament, t, ours, n) for t in tables] for n in _numbers(rounds)])
        floors = _once(tournament, tables, FLOOR)
    with _loaded(tournament, sizes, Order.COHORT) as tables:
        in_cohorts = _once(tournament, tables, ours)
        floors += _once(tournament, tables, FLOOR)
    free, held = _rounds(
        [[_claim(tournament, pinned, name, n, beside) for name, beside in claims] for n in _numbers(rounds)]
    )
    tournament.arena.forget(pinned)
    return Growth(grown, in_cohorts, floors, free, held)


def steps(sizes: Sequence[int], rounds: int) -> int:
    """How many runs that are."""
    return len(sizes) * (rounds + 3) + 2 * rounds


def _numbers(rounds: int) -> range:
    return range(1, rounds + 1)


@contextmanager
def _loaded(tournament: Tournament, sizes: Sequence[int], order: Order) -> Iterator[list[Workload]]:
    """Tables of all sizes at once: what slows a round slows all of them."""
    tables = [
        Workload(f"{due:,} due rows, {order.value}", round(due / DUE_SHARE), order, DUE_SHARE)
        for due in sizes
    ]
    try:
        yield tables
    finally:
        for table in tables:
            tournament.arena.forget(table)


def _once(tournament: Tournament, tables: Sequence[Workload], entry: Entry) -> tuple[Rounds, ...]:
    return _rounds([[_drain(tournament, table, entry, 1) for table in tables]])


def _drain(tournament: Tournament, table: Workload, entry: Entry, number: int) -> Run:
    tournament.announce(f"growth, round {number}: {entry.name}, {table.name}")
    return tournament.run(table, entry, number)


def _claim(tournament: Tournament, table: Workload, name: str, number: int, beside: Beside) -> Run:
    tournament.announce(f"claims, round {number}: {name}")
    return tournament.run(table, DATABASE[1], number, beside)


def _rounds(by_round: list[list[Run]]) -> tuple[Rounds, ...]:
    return tuple(Rounds(runs) for runs in zip(*by_round, strict=True))


@contextmanager
def pin_snapshot(place: Place) -> Iterator[None]:
    """A session that began before the drain and looks at the database as it was then."""
    with db.connect(place.dsn, "bench:pin", autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select count(*) from public.pastes")
        yield
