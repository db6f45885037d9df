"""Runs that are compared with each other, round by round: what slows a round slows all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.runner import Beside, Run, Runner, Variant, nothing
from reaper.dev.bench.workload import Workload


@dataclass(frozen=True)
class Entry:
    """What one run of each round is; the label says so while it runs."""

    label: str
    workload: Workload
    variant: Variant
    beside: Beside = nothing


def run_rounds(runner: Runner, entries: Sequence[Entry], rounds: int) -> tuple[Rounds, ...]:
    """Every entry once in each round, in shuffled order; the answer is in the order of the entries."""
    chance = random.Random(f"{runner.seed} {entries[0].label}")
    measured: list[list[Run]] = [[] for _ in entries]
    try:
        for number in range(1, rounds + 1):
            for place in chance.sample(range(len(entries)), len(entries)):
                entry = entries[place]
                runner.announce(f"{entry.label}, round {number} of {rounds}")
                measured[place].append(runner.run(entry.workload, entry.variant, number, entry.beside))
    finally:
        for entry in entries:
            runner.servers.forget(entry.workload)
    return tuple(Rounds(tuple(runs)) for runs in measured)
