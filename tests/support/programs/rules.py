"""What all parts of a program share: the model, who is at work in it, and what numbers are drawn."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from hypothesis import strategies as st

from tests.support.programs.memory_backends import Failures
from tests.support.programs.model import BACKENDS, Model

F = TypeVar("F", bound=Callable[..., None])

CODES = [f"c{n}" for n in range(12)]
CONTENTS = 3
LIVES = [timedelta(seconds=1), timedelta(seconds=90), timedelta(hours=2), timedelta(days=3), None]

codes = st.integers(0, len(CODES) + 2)
numbers = st.integers(0, CONTENTS - 1)
lives = st.sampled_from(LIVES)
slots = st.integers(0, 1)
some = st.integers(1, 5)
any_one = st.integers(0, 5)
backends = st.sampled_from(BACKENDS)
HELD = """
select from reaper.batches where batch_id = %s union all select from reaper.cleanup_queue where lease = %s
"""
# How a call ends: as it should, with the session killed before the commit, or with the answer lost.
ends = st.sampled_from(["well", "well", "well", "undone", "lost"])


@dataclass
class Upload:
    """A writer between begin and commit."""

    intent: UUID
    code: str
    data: bytes
    until: datetime | None
    backend: str
    key: str
    begun: datetime
    needed: bool
    # Whether bytes were sent, and whether the answer said that they are there.
    sent: bool = False
    stored: bool = False


@dataclass
class Batch:
    """What a worker knows about the batch that it holds."""

    batch: UUID
    released: bool = False
    # Its references were released, whether or not the worker was told.
    counted: bool = False
    codes: list[str] = field(default_factory=list)
    objects: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Lease(Batch):
    """What somebody knows who deletes what is owed."""

    failures: Failures = field(default_factory=list)


@dataclass
class Refusal:
    """The SQLSTATE with which a call was refused, if it was."""

    sqlstate: str | None = None


@contextmanager
def allowing(*sqlstates: str) -> Iterator[Refusal]:
    """These refusals are in order; any other is not."""
    refusal = Refusal()
    try:
        yield refusal
    except psycopg.Error as error:
        if error.sqlstate not in sqlstates:
            raise
        refusal.sqlstate = error.sqlstate


@dataclass(frozen=True)
class Move:
    """What can be done, how likely it is, and whether there is anything to do."""

    name: str
    weight: int
    when: Callable[[Any], object]
    arguments: Mapping[str, st.SearchStrategy[Any]]


@dataclass(frozen=True)
class Call:
    """A move with its arguments: one line of a program."""

    move: Move
    arguments: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"{self.move.name}({', '.join(f'{name}={each!r}' for name, each in self.arguments.items())})"


def move(
    weight: int = 1, when: Callable[[Any], object] = lambda _: True, **arguments: st.SearchStrategy[Any]
) -> Callable[[F], F]:
    """Make a method a move of all programs."""

    def mark(function: F) -> F:
        function.move = Move(function.__name__, weight, when, arguments)  # type: ignore[attr-defined]
        return function

    return mark


@st.composite
def calls(draw: st.DrawFn, *kinds: type) -> Call:
    """One of all moves of these classes, with arguments."""
    marked = [each.move for kind in kinds for each in vars(kind).values() if hasattr(each, "move")]
    move: Move = draw(st.sampled_from([each for each in marked for _ in range(each.weight)]))
    return Call(move, {name: draw(argument) for name, argument in move.arguments.items()})


def waiting(what: str) -> Callable[["Base"], bool]:
    """Whether there is something for a service to do."""
    return lambda self: self.model.waiting.get(what, 0) > 0


class Base:
    """Who is at work, and what they know."""

    model: Model
    writers: dict[int, Upload]
    workers: dict[int, Batch]
    graves: list[Batch]
    leases: dict[int, Lease]
    lost_leases: list[Lease]
    # Replicators between claim and commit.
    copiers: dict[int, Any]
    # Of cache entries.
    entries: Lease | None
    # Bytes on their way whose sender has given up: until when they may still land.
    landing: list[tuple[str, str, bytes, datetime]]

    def code(self, which: int) -> str:
        """A code for a new paste: mostly one under which none lives."""
        living = self.model.living()
        free = [code for code in CODES if code not in living]
        choice = free if free and which < len(CODES) else CODES
        return choice[which % len(choice)]

    def known(self, which: int) -> str:
        """One of the codes that are, or were, in use."""
        codes = sorted(self.model.pastes)
        return codes[which % len(codes)]

    @contextmanager
    def ending(self, how: str) -> Iterator[None]:
        """What is done in here comes through, or does not because its session is killed."""
        if how == "undone":
            with self.model.undone():
                yield
        else:
            yield

    def act(self, held: Batch) -> Failures:
        """Drop entries and delete objects; the failures."""
        failures = self.model.cache.forget(held.codes)
        for backend, key in held.objects:
            if failed := self.model.backends[backend].delete(key):
                failures.append({"backend": backend, "object_key": key, **failed})
        return failures

    def may_act(self, held: Batch) -> bool:
        """Under a bare hash new content may lie by now: who deletes it late is beyond what is promised."""
        own = all("/" in key for _, key in held.objects)
        return own or bool(self.model.sql(HELD, held.batch, held.batch))
