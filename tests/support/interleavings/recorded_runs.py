"""What an exploration saw: events make a run, runs make the exploration."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Self

# Whatever is sent in a failed transaction ends with this: the error that failed it is the one to judge.
IN_FAILED_TRANSACTION = "25P02"


@dataclass(frozen=True)
class Outcome:
    """How a step ended; `value` is its rows, the number of rows it changed, or what the function returned."""

    value: Any = None
    sqlstate: str | None = None
    message: str = ""

    def __str__(self) -> str:
        return f"{self.sqlstate} {self.message}" if self.sqlstate else repr(self.value)


@dataclass
class Event:
    """A step that ended, or that began to wait (no outcome yet), and what was wrong right after it."""

    label: str
    text: str
    outcome: Outcome | None
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return self.label if self.outcome else f"({self.label} waits)"

    def is_problem(self, allow: Container[str]) -> bool:
        """Say whether this must not happen."""
        state = self.outcome.sqlstate if self.outcome else None
        return bool(self.violations) or not (state in (None, IN_FAILED_TRANSACTION) or state in allow)

    def lines(self) -> list[str]:
        """Tell the step, how it ended, and what was wrong."""
        ended = f"-> {self.outcome}" if self.outcome else "waits"
        return [
            f"{self.label:<10} {self.text}  {ended}",
            *(f"{'':<10} ! {wrong}" for wrong in self.violations),
        ]


@dataclass(frozen=True)
class Turn:
    """Who moved, of those who could, at a place: the schedule that led there."""

    place: str
    chosen: str
    offered: tuple[str, ...]


@dataclass
class Run:
    """One schedule from start to end; `stuck` are the steps that nobody was left to release."""

    events: list[Event] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)

    @property
    def schedule(self) -> str:
        """Write the order of events, as `only=` understands it: `a1 b1 (b2 waits) a2 b2`."""
        return " ".join(map(str, self.events))

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """Map the label of each step that ended to how it ended."""
        return {event.label: event.outcome for event in self.events if event.outcome}

    @property
    def waited(self) -> set[str]:
        """Collect the labels of the steps that had to wait for another actor."""
        return {event.label for event in self.events if not event.outcome}

    @property
    def violations(self) -> list[str]:
        """List all that was wrong, in the order in which it was seen."""
        return [wrong for event in self.events for wrong in event.violations]

    def until_problem(self, allow: Container[str]) -> Self | None:
        """Cut the run after its first problem; None when it has none."""
        for end, event in enumerate(self.events, 1):
            if event.is_problem(allow):
                return type(self)(self.events[:end])
        return self if self.stuck else None

    def __str__(self) -> str:
        lines = [line for event in self.events for line in event.lines()]
        lines += [f"{label:<10} ! waits for ever: nobody is left to release it" for label in self.stuck]
        return "\n".join(lines)


@dataclass
class Exploration:
    """All runs, each with a schedule of its own; `unreached` are orders that a race allowed only once.

    Where two waiters are released at once PostgreSQL decides who is first, and may decide otherwise later.
    """

    runs: list[Run]
    unreached: list[str] = field(default_factory=list)

    @property
    def schedules(self) -> list[str]:
        """List the schedules that were run; no two are the same."""
        return [run.schedule for run in self.runs]

    @property
    def violations(self) -> dict[str, list[str]]:
        """Map each violating schedule to what was wrong in it."""
        return {run.schedule: run.violations for run in self.runs if run.violations}

    @property
    def deadlocks(self) -> list[Run]:
        """List the runs in which somebody was the victim of a deadlock."""
        return self.errors("40P01")

    def errors(self, sqlstate: str) -> list[Run]:
        """List the runs in which a step ended with this SQLSTATE."""
        return [run for run in self.runs if any(o.sqlstate == sqlstate for o in run.outcomes.values())]

    def waits(self, label: str) -> list[Run]:
        """List the runs in which this step had to wait for another actor."""
        return [run for run in self.runs if label in run.waited]

    def assert_clean(self, allow: Container[str] = ()) -> Self:
        """Raise the shortest way to a violation, to an error outside `allow` or to an endless wait."""
        bad = [cut for run in self.runs if (cut := run.until_problem(allow))]
        if bad:
            worst = min(bad, key=lambda run: len(run.events))
            summary = f"{len(bad)} of {len(self.runs)} schedules go wrong; the shortest way:"
            raise AssertionError(f"{summary}\n\n{worst}\n\nreplay: explore(..., only={worst.schedule!r})")
        return self
