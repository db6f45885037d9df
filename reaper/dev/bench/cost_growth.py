"""Does a row cost the same in a large table, and while another session keeps an old snapshot?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.runner import Beside, Run, Runner, Variant, nothing
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.variants import DATABASE, FLOOR
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


def measure(runner: Runner, sizes: Sequence[int], pinned: Workload, rounds: int) -> Growth:
    """Drain tables of each size with one worker, so that no claim waits for another."""
    ours, claims = DATABASE[1], (("no snapshot is pinned", nothing), ("a snapshot is pinned", pin_snapshot))
    with _loaded(runner, sizes, Order.RANDOM) as tables:
        grown = _rounds([[_drain(runner, t, ours, n) for t in tables] for n in _numbers(rounds)])
        floors = _once(runner, tables, FLOOR)
    with _loaded(runner, sizes, Order.COHORT) as tables:
        in_cohorts = _once(runner, tables, ours)
        floors += _once(runner, tables, FLOOR)
    free, held = _rounds(
        [[_claim(runner, pinned, name, n, beside) for name, beside in claims] for n in _numbers(rounds)]
    )
    runner.servers.forget(pinned)
    return Growth(grown, in_cohorts, floors, free, held)


def steps(sizes: Sequence[int], rounds: int) -> int:
    """How many runs that are."""
    return len(sizes) * (rounds + 3) + 2 * rounds


def _numbers(rounds: int) -> range:
    return range(1, rounds + 1)


@contextmanager
def _loaded(runner: Runner, sizes: Sequence[int], order: Order) -> Iterator[list[Workload]]:
    """Tables of all sizes at once: what slows a round slows all of them."""
    tables = [
        Workload(f"{due:,} due rows, {order.value}", round(due / DUE_SHARE), order, DUE_SHARE)
        for due in sizes
    ]
    try:
        yield tables
    finally:
        for table in tables:
            runner.servers.forget(table)


def _once(runner: Runner, tables: Sequence[Workload], variant: Variant) -> tuple[Rounds, ...]:
    return _rounds([[_drain(runner, table, variant, 1) for table in tables]])


def _drain(runner: Runner, table: Workload, variant: Variant, number: int) -> Run:
    runner.announce(f"growth, round {number}: {variant.name}, {table.name}")
    return runner.run(table, variant, number)


def _claim(runner: Runner, table: Workload, name: str, number: int, beside: Beside) -> Run:
    runner.announce(f"claims, round {number}: {name}")
    return runner.run(table, DATABASE[1], number, beside)


def _rounds(by_round: list[list[Run]]) -> tuple[Rounds, ...]:
    return tuple(Rounds(runs) for runs in zip(*by_round, strict=True))


@contextmanager
def pin_snapshot(addresses: Addresses) -> Iterator[None]:
    """A session that began before the drain and looks at the database as it was then."""
    with db.connect(addresses.dsn, "bench:pin", autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select count(*) from public.pastes")
        yield
