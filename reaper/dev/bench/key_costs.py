"""Does a row cost more where objects are named by their bare hashes, as in adopted tables?

Such a name comes back with the next paste of the same content, so that it is kept out of use until its object
is gone; a random name needs no such care.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.runner import Runner
from reaper.dev.bench.side_by_side import Entry, run_rounds
from reaper.dev.bench.variants import DIRECT, MARK
from reaper.dev.bench.workload import Workload


@dataclass(frozen=True)
class KeyCosts:
    """Drains of one worker, by direct release and by marking, on tables that differ in their keys alone."""

    direct: Rounds
    direct_bare: Rounds
    mark: Rounds
    mark_bare: Rounds

    @property
    def pairs(self) -> tuple[tuple[str, Rounds, Rounds], ...]:
        """Way of release, random keys, bare hashes."""
        return (("direct", self.direct, self.direct_bare), ("mark", self.mark, self.mark_bare))

    @property
    def parts(self) -> tuple[Rounds, ...]:
        """Everything that was measured."""
        return (self.direct, self.direct_bare, self.mark, self.mark_bare)


def measure(runner: Runner, table: Workload, rounds: int) -> KeyCosts:
    """Drain both tables with one worker."""
    tables = (
        ("random keys", replace(table, name=f"{table.name}, random keys")),
        ("bare-hash keys", replace(table, name=f"{table.name}, bare-hash keys", bare_keys=True)),
    )
    entries = [
        Entry(f"keys, {way}, {keys}", each, variant)
        for way, variant in (("direct", DIRECT[1]), ("mark", MARK[1]))
        for keys, each in tables
    ]
    return KeyCosts(*run_rounds(runner, entries, rounds))


def steps(rounds: int) -> int:
    """How many runs that are."""
    return 4 * rounds
