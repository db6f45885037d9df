"""Fault points: every call at which a process can die, or lose the answer, with the world changed or not yet.

All that a process does outside itself goes through a method of `Queries` or of a port: these are the points,
and each has the name of its method. Production does nothing at them. `intercepted(…)` puts something
around them all, in a process of its own: the demo does, and so do the tests, which die, stop and lose the
answer at each. The points of `Queries` follow from its methods; a method of a port that is missing here
fails a test, and so does a point that no job of the tests ever passes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from reaper.app import Parts
from reaper.queries import Queries
from reaper.queries.base import Effect, Intercept

COMMITS = tuple(sorted(name for name, effect in Queries.effects.items() if effect is Effect.COMMITS))
READS = tuple(sorted(name for name, effect in Queries.effects.items() if effect is Effect.READS))
PORTS = {
    "objects": (
        *("abort", "check", "copy", "create", "delete", "digest", "find", "get", "head", "list", "parts"),
        *("probe", "put", "read", "uploads", "write"),
    ),
    "cache": ("check", "codes", "drop", "forget", "present"),
    "pastes": ("drop", "fill", "read"),
    "webhooks": ("request", "send"),
    # The two ends of holding it.
    "lock": ("acquire", "release"),
    "usage": ("forget", "publish", "read"),
}
ALL = (*COMMITS, *READS, *(f"{kind}.{name}" for kind, names in PORTS.items() for name in names))


def intercepted(intercept: Intercept, **parts: Any) -> Parts:
    """Parts of an app in which `intercept` stands around every point."""
    return Parts(intercept=intercept, around=partial(_around, intercept), **parts)


def _around(intercept: Intercept, kind: str, port: Any) -> Any:
    return InterceptedLock(port, intercept) if kind == "lock" else InterceptedPort(kind, port, intercept)


class InterceptedPort:
    """A port whose methods are fault points; all else is the port's own."""

    def __init__(self, kind: str, port: object, intercept: Intercept) -> None:
        self._kind = kind
        self._port = port
        self._intercept = intercept

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name not in PORTS[self._kind]:
            return found
        # What comes page by page is read inside its point.
        call = partial(_read, found) if inspect.isgeneratorfunction(found) else found
        return partial(_passed, self._intercept, f"{self._kind}.{name}", call)


class InterceptedLock:
    """A claim lock whose two ends are fault points."""

    def __init__(self, lock: Any, intercept: Intercept) -> None:
        self._lock = lock
        self._intercept = intercept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """A lock that this process does not know to hold is not released: it runs out."""
        holding: AbstractContextManager[bool] = self._lock.hold()
        held = self._intercept("lock.acquire", holding.__enter__)
        try:
            yield held
        finally:
            if held:
                self._intercept("lock.release", holding.__exit__, None, None, None)


def _read(pages: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
    return iter(list(pages(*arguments)))


def _passed(intercept: Intercept, point: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return intercept(point, partial(call, **named) if named else call, *arguments)
