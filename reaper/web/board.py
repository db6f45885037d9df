"""One look at the system for all tabs: however many are open, PostgreSQL is asked once every two seconds.

While someone looks, a thread asks; ten seconds after the last question it ends. Whoever asks gets the newest
snapshot, at once where there is one that is not old.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reaper.db.reconnecting_session import Session
from reaper.errors import ReaperError, Unreachable, describe
from reaper.ops.status import Status, look
from reaper.queries import Queries
from reaper.web.section import OFTEN, Look, Section

# Without questions for so long, PostgreSQL is not asked any more.
INTEREST = 10.0
# An older snapshot is worth waiting for a newer one, but not for longer than a person would.
OLD = 3 * OFTEN
PATIENCE = 5.0
RIGHTS_EVERY = 60.0


@dataclass(frozen=True)
class Answer:
    """What a section shows, or why it cannot; when it was asked, by the clock of this process."""

    asked_at: float
    shown: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True)
class Snapshot:
    """The system at one moment. `problem` is why the database did not answer; then the rest is older."""

    number: int
    taken_at: float
    status: Status | None
    answers: Mapping[str, Answer]
    # The functions that this login may call.
    rights: frozenset[str] = frozenset()
    database: str = ""
    problem: str | None = None


# What a bug in a section or template leaves to be shown.
FAILED = "this failed here; the log of reaper web has the error"
NOTHING = Snapshot(0, float("-inf"), None, {})


class Board:
    """Keeps the snapshot that all tabs share."""

    def __init__(
        self,
        session: Session[Queries],
        sections: Sequence[Section],
        every: float = OFTEN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._sections = sections
        self._every = every
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted_at = float("-inf")
        self._asking = False
        self._stop = threading.Event()
        self._snapshot = NOTHING
        self._rights_at = float("-inf")
        self._kept: dict[str, Any] = {}
        # Orders that want all sections anew, and how many of them have got that.
        self._ordered = 0
        self._served = 0

    def current(self) -> Snapshot:
        """The newest snapshot, perhaps none yet; asking for it keeps the next ones coming."""
        with self._changed:
            self._want()
            return self._snapshot

    def look(self) -> Snapshot:
        """A snapshot that is not old; after some patience the one that there is."""
        with self._changed:
            self._want()
            self._changed.wait_for(lambda: not self._is_old(), PATIENCE)
            return self._snapshot

    def refresh(self) -> None:
        """After an order: the next snapshot begins now, and whoever looks waits for it."""
        with self._changed:
            self._ordered += 1
            mine = self._ordered
            self._want()
            self._changed.wait_for(lambda: self._served >= mine, PATIENCE)

    def keep(self, name: str, value: object) -> None:
        """Let sections show it from the next look on."""
        self._kept[name] = value

    def kept(self, name: str) -> Any:
        """What was kept under that name, or None."""
        return self._kept.get(name)

    def close(self) -> None:
        """Ask no more."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._asking, PATIENCE)
        self._session.close()

    def _is_old(self) -> bool:
        return self._clock() - self._snapshot.taken_at > OLD

    def _want(self) -> None:
        self._wanted_at = self._clock()
        self._changed.notify_all()
        if not self._asking and not self._stop.is_set():
            self._asking = True
            threading.Thread(target=self._ask_while_wanted, name="board", daemon=True).start()

    def _ask_while_wanted(self) -> None:
        while True:
            began = self._clock()
            ordered = self._ordered
            taken = self._take(everything=ordered > self._served)
            with self._changed:
                self._snapshot, self._served = taken, ordered
                self._changed.notify_all()
                rest = max(0.05, self._every - (self._clock() - began))
                self._changed.wait_for(lambda: self._stop.is_set() or self._ordered > self._served, rest)
                if self._stop.is_set() or self._clock() - self._wanted_at > INTEREST:
                    self._asking = False
                    self._changed.notify_all()
                    return

    def _take(self, everything: bool) -> Snapshot:
        before = self._snapshot
        number = before.number + 1
        try:
            return self._session.call(lambda q: self._asked(q, number, everything))
        except ReaperError as error:
            problem = describe(error)
        except Exception:
            # Ended by it, this thread would leave all tabs with old figures that look like new ones.
            logging.getLogger(__name__).exception("board failed")
            problem = FAILED
        return replace(before, number=number, taken_at=self._clock(), problem=problem)

    def _asked(self, q: Queries, number: int, everything: bool) -> Snapshot:
        status = look(q)
        seen = Look(q, status, self._kept, everything)
        rights = self._rights(q)
        answers = {section.name: self._answer(section, seen, everything) for section in self._sections}
        return Snapshot(number, self._clock(), status, answers, rights, self._database(q))

    def _rights(self, q: Queries) -> frozenset[str]:
        if self._clock() - self._rights_at > RIGHTS_EVERY or not self._snapshot.rights:
            self._rights_at = self._clock()
            return q.callable_functions()
        return self._snapshot.rights

    def _database(self, q: Queries) -> str:
        return self._snapshot.database or q.installation_identity().database

    def _answer(self, section: Section, seen: Look, everything: bool) -> Answer:
        """A section that PostgreSQL refuses is told as refused; the others are shown all the same."""
        before = self._snapshot.answers.get(section.name)
        now = self._clock()
        # A little early rather than a whole round late.
        if before and not everything and now - before.asked_at < section.every - self._every / 2:
            return before
        try:
            return Answer(now, section.ask(seen))
        except Unreachable:
            raise
        except ReaperError as error:
            return Answer(now, problem=describe(error))
        except Exception:
            logging.getLogger(__name__).exception("section failed: %s", section.name)
            return Answer(now, problem=FAILED)
