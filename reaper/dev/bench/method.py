"""A method of deleting what is due: what it promises, what it needs, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from reaper.dev.bench.server_addresses import Addresses


class Promise(StrEnum):
    """How much of the work a method claims to have done; the check holds it to that."""

    EVERYTHING = "rows, references, content, objects and cache entries"
    DATABASE = "rows, references and content"
    JOURNALLED = "rows, references and content; objects are owed in batches"
    UNCOUNTED = "rows and content; references are looked up, their counts stay"
    ROWS = "rows only"


class Needs(StrEnum):
    """What has to be filled before a method can begin."""

    DATABASE = "database"
    CACHE = "database and cache"
    EVERYTHING = "database, cache and bucket"


@dataclass(frozen=True)
class Step:
    """One step of a batch: when it began, counted from the start, and how long it took."""

    at: float
    seconds: float


@dataclass(frozen=True)
class Work:
    """What one process did while it was measured."""

    rows: int
    cpu_seconds: float = 0.0
    claims: tuple[Step, ...] = ()
    # Sum of the time in each step, by its name.
    steps: tuple[tuple[str, float], ...] = ()
    # What the method itself found wrong with the way it went.
    problems: tuple[str, ...] = ()


Go = Callable[[], Work]


class Method(Protocol):
    """One way to get rid of what is due; may run in several processes at once."""

    @property
    def name(self) -> str:
        """How tables and results call it."""

    @property
    def promise(self) -> Promise:
        """What it claims to do."""

    @property
    def needs(self) -> Needs:
        """What it works with."""

    @property
    def sample(self) -> int | None:
        """After how many rows it stops, because all of them would take too long; None = it does all."""

    def ready(self, addresses: Addresses) -> AbstractContextManager[Go]:
        """Connect and do what is not to be measured; what comes back is the rest."""
