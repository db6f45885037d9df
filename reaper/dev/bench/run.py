"""One run from the first server to the last figure."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version

from reaper.dev.bench import foreground, growth, machine
from reaper.dev.bench.arena import Arena
from reaper.dev.bench.plan import Match, Plan
from reaper.dev.bench.results import Results
from reaper.dev.bench.tournament import Run, Tournament

Announce = Callable[[str], None]


def measure(plan: Plan, announce: Announce) -> Results:
    """Run everything in the plan; `announce` is called once before each step of it."""
    began, clock = datetime.now(UTC), time.monotonic()
    with Arena() as arena:
        tournament = Tournament(arena, plan.seed, announce)
        runs = [run for match in plan.matches for run in _play(tournament, match)]
        grown = growth.measure(tournament, plan.growth, plan.pinned, plan.rounds)
        phases = foreground.measure(
            arena, plan.foreground, plan.foreground_seconds, plan.rounds, plan.seed, announce
        )
        return Results(
            plan=plan.name,
            version=version("pg-reaper"),
            began=began,
            seconds=time.monotonic() - clock,
            machine=machine.describe(),
            settings=arena.settings(),
            runs=tuple(runs),
            growth=grown,
            foreground=phases,
        )


def _play(tournament: Tournament, match: Match) -> list[Run]:
    try:
        return tournament.play(match.workload, match.entries, match.rounds)
    finally:
        tournament.arena.forget(match.workload)
