"""Run the steps of two or three connections in every order and look for what must never be seen.

    explore(
        connect,
        {
            "drop": Actor("begin", "select * from reaper.drop_references(%(batch_id)s)", "commit"),
            "insert": Actor("begin", sql("insert into pastes values (%s, %s)", "b", "hash"), "commit"),
        },
        reset=fill,        # brings the start state back; may return a dict, with which all memories begin
        check=violations,  # after each step, on a connection of its own: all that is wrong, in words
    ).assert_clean(allow={"40001"})

A step is SQL text, `sql(text, *params)` or a function `step(conn, memory)`. The first row of a statement
stays in the actor's memory under its column names (nulls when there was no row), and later statements name
it as `%(column)s`. `at_end(conn, run)` is a last check that also sees what each step returned.

A step that waits for another actor's lock is seen through pg_blocking_pids and stays under way while the
others move: `a1 b1 (b2 waits) a2 b2`. The next move is offered only to those who can move, so that no order
is run twice. The connections should be a superuser's, for deadlocks to be found at once; `Actor(role=...)`
makes an actor somebody else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from random import Random

from tests.support.interleavings.actors import Actor, Step, sql
from tests.support.interleavings.recorded_runs import Exploration, Run
from tests.support.interleavings.schedule_runner import (
    Check,
    Chooser,
    Connect,
    ExplorerError,
    FinalCheck,
    Reset,
    ScheduleRunner,
)

__all__ = ["Actor", "Exploration", "ExplorerError", "Run", "Step", "explore", "sql"]

# How often to try for an order that depends on which of two released waiters is quicker.
TRIES = 20


def explore(
    connect: Connect,
    actors: Mapping[str, Actor],
    *,
    reset: Reset,
    check: Check = lambda _conn: (),
    at_end: FinalCheck = lambda _conn, _run: (),
    only: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    limit: int = 10_000,
) -> Exploration:
    """Run every order, or one that begins with `only`, or up to `sample` random ones drawn with `seed`."""
    with ExitStack() as stack:
        runner = ScheduleRunner(stack, connect, actors, reset, check, at_end)
        if only is not None:
            return Exploration([_replay(runner, only)])
        if sample is not None:
            return _sample(runner, actors, sample, Random(seed))
        return _Search(runner, limit).everything()


def _replay(runner: ScheduleRunner, schedule: str) -> Run:
    """Run this order; one that was not copied from a run need not say who waits and who is released first."""
    path = _parse(schedule)
    followed = None
    for _ in range(TRIES):
        run = runner.run(_follow(path))
        if run.schedule.startswith(schedule):
            return run
        if [turn.chosen for turn in run.turns][: len(path)] == path:
            followed = run
    if followed is None:
        raise ExplorerError(f"no run goes {schedule!r}; the nearest: {run.schedule!r}")
    return followed


def _sample(runner: ScheduleRunner, actors: Mapping[str, Actor], size: int, random: Random) -> Exploration:
    """Run random orders; those that locks turned into the same one count once."""
    moves = [name for name, actor in actors.items() for _ in actor.steps]
    orders = dict.fromkeys(tuple(random.sample(moves, len(moves))) for _ in range(size))
    runs = [runner.run(_prefer(order)) for order in orders]
    return Exploration(list({run.schedule: run for run in runs}.values()))


@dataclass(frozen=True)
class _Branch:
    """A turn that was offered at a place and not taken, and the way to it."""

    place: str
    path: tuple[str, ...]
    tries: int = 0

    @property
    def turn(self) -> tuple[str, str]:
        return self.place, self.path[-1]


class _Search:
    """Runs each order once, depth first: a run leaves behind the turns it was offered and did not take."""

    def __init__(self, runner: ScheduleRunner, limit: int) -> None:
        self._stage, self._limit = runner, limit
        self._runs: dict[str, Run] = {}
        self._taken: set[tuple[str, str]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._open: list[_Branch] = []
        self._unreached: list[str] = []

    def everything(self) -> Exploration:
        self._go(())
        while self._open:
            branch = self._open.pop()
            if branch.turn not in self._taken:
                self._go(branch.path)
                self._try_again_unless_taken(branch)
        return Exploration(list(self._runs.values()), self._unreached)

    def _go(self, path: tuple[str, ...]) -> None:
        if len(self._runs) >= self._limit:
            raise ExplorerError(
                f"more than {self._limit} schedules: use fewer steps, sample=, or a higher limit"
            )
        run = self._stage.run(_follow(path))
        self._runs.setdefault(run.schedule, run)
        self._taken.update((turn.place, turn.chosen) for turn in run.turns)
        fresh = [branch for branch in _branches(run) if branch.turn not in self._seen]
        self._seen.update(branch.turn for branch in fresh)
        self._open += fresh

    def _try_again_unless_taken(self, branch: _Branch) -> None:
        """A race between released waiters may keep a branch out of reach for a while."""
        if branch.turn in self._taken:
            return
        if branch.tries < TRIES:
            self._open.append(replace(branch, tries=branch.tries + 1))
        else:
            self._unreached.append(f"{branch.place} {branch.path[-1]}")


def _branches(run: Run) -> list[_Branch]:
    path = tuple(turn.chosen for turn in run.turns)
    return [
        _Branch(turn.place, (*path[:at], other))
        for at, turn in enumerate(run.turns)
        for other in turn.offered
        if other != turn.chosen
    ]


def _follow(path: Iterable[str]) -> Chooser:
    """Choose along the path for as long as it can be followed, then whoever comes first."""
    turns = iter(path)

    def choose(movable: Sequence[str]) -> str:
        turn = next(turns, movable[0])
        return turn if turn in movable else movable[0]

    return choose


def _prefer(order: Iterable[str]) -> Chooser:
    """Choose the earliest in the order who can move."""
    left = list(order)

    def choose(movable: Sequence[str]) -> str:
        return left.pop(next(at for at, name in enumerate(left) if name in movable))

    return choose


def _parse(schedule: str) -> list[str]:
    """Read who moves when; a step that waited is named twice, and moved the first time."""
    labels = dict.fromkeys(re.findall(r"\w*\d", schedule))
    return [label.rstrip("0123456789") for label in labels]
