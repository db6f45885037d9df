"""What a section of the page is, and how to add one.

A section is one file in `reaper/web/sections/` that ends in `SECTION = Section(…)`, one template of that
name in `templates/sections/`, and one line in the tuple of `reaper/web/sections/__init__.py`. Its `ask` gets
a `Look` and returns what the template shows. It asks bounded questions only: it is called every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from reaper.ops.status import Status
from reaper.queries import Queries

# Seconds between two looks: of what moves, and of what does not move so fast.
OFTEN = 2.0
SELDOM = 10.0


@dataclass(frozen=True)
class Look:
    """One look at the system, for all sections."""

    q: Queries
    status: Status
    # What a section keeps from one look to the next.
    kept: dict[str, Any] = field(default_factory=dict)
    # An order was given: what a section has kept may be wrong now.
    anew: bool = False

    @property
    def now(self) -> datetime:
        """The time by the database's clock."""
        return self.status.health.judged_at

    def seldom(self, name: str, ask: Callable[[Look], dict[str, Any]]) -> Mapping[str, Any]:
        """What costs more than the rest of its section: the last answer, as long as that is not old."""
        kept: tuple[datetime, dict[str, Any]] | None = self.kept.get(name)
        if kept is None or self.anew or self.now - kept[0] >= timedelta(seconds=SELDOM):
            kept = self.kept[name] = self.now, ask(self)
        return kept[1]


@dataclass(frozen=True)
class Section:
    """A declaration; see the top of this file."""

    name: str
    title: str
    ask: Callable[[Look], Mapping[str, Any]]
    # How many things in it want a person, for the index of the page.
    trouble: Callable[[Mapping[str, Any]], int] = lambda _: 0
    every: float = OFTEN
