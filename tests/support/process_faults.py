"""Faults of a process: what happens to it at one of its points (`reaper.dev.fault_points`)."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from reaper.errors import DatabaseError, Unreachable
from reaper.model import CacheRead, Failed
from reaper.queries import Queries
from tests.support.event_loop import Blocking

SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
# It is over before or after the call; the call is made and not answered; or it is refused: locks are held.
MOMENTS = ("before", "after", "lost", "busy")
# How a port says that it got no answer, where it does not raise.
UNANSWERED: dict[str, Callable[..., Any]] = {
    "objects.delete": lambda keys: dict.fromkeys(keys, Failed("no answer", outage=True)),
    "cache.forget": lambda codes: dict.fromkeys(codes, "no answer"),
    "cache.drop": lambda codes: dict.fromkeys(codes, "no answer"),
    "pastes.read": lambda _: CacheRead(None, None),
    "pastes.fill": lambda *_: False,
    "pastes.drop": lambda _: False,
    "usage.publish": lambda *_: False,
    "usage.read": list,
    "usage.forget": lambda _: 0,
    "lock.acquire": lambda: False,
    "lock.release": lambda *_: None,
}


@dataclass(frozen=True)
class ProcessFault:
    """At the nth time that the point is passed, and as many times from then on."""

    moment: str
    point: str
    how: str = "kill"
    nth: int = 1
    times: int = 1

    @classmethod
    def of(cls, where: str, how: str = "kill", nth: int = 1) -> Self:
        """For example "after claim_expired"."""
        moment, point = where.split()
        return cls(moment, point, how, nth)

    def strikes(self, time: int) -> bool:
        """Whether it is at this passing of its point."""
        return self.nth <= time < self.nth + self.times

    def __str__(self) -> str:
        again = f" no. {self.nth}" if self.nth > 1 else ""
        return f"{self.moment} {self.point}{again}"


@dataclass
class FaultPlan:
    """Put around all points of a process: its faults, and how often it passed which point."""

    faults: tuple[ProcessFault, ...] = ()
    passed: Counter[str] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _unheard: list[Callable[..., Any]] = field(default_factory=list)

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        with self._guard:
            self.passed[point] += 1
            time = self.passed[point]
        fault = next((f for f in self.faults if f.point == point and f.strikes(time)), None)
        return self._struck(fault, call, arguments) if fault else call(*arguments)

    def _struck(self, fault: ProcessFault, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if fault.moment == "busy":
            raise DatabaseError("lock timeout", None, "55P03")
        if fault.moment == "before":
            _over(SIGNALS[fault.how])
        answer = call(*arguments)
        if fault.moment == "after":
            _over(SIGNALS[fault.how])
        return self._lost(fault.point, call, arguments) if fault.moment == "lost" else answer

    def _lost(self, point: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if point in UNANSWERED:
            # Kept: a lock whose holder is forgotten would be given back.
            self._unheard.append(call)
            return UNANSWERED[point](*arguments)
        asked = next(iter(getattr(call, "args", ())), None)
        if isinstance(asked, Queries):
            closing = asked._db.connection.close()
            if isinstance(call, Blocking):
                call.wait_for(closing)
        raise Unreachable("no answer")


def _over(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    # Another thread may take the signal, and this one would go on for a moment.
    time.sleep(0.1)
