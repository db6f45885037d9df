"""Every part of an App that a test replaces is replaced here, and nowhere else.

An `intercept` is put around each query and each call of a port (`reaper.dev.fault_points`): it sees the name
of the call and its arguments, and makes the call or does something instead. Tests that have to act between
two queries, to lose an answer or to kill the process write one of these.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from reaper.app import App, Parts
from reaper.config.settings import Settings
from reaper.dev import fault_points
from reaper.ports import ObjectStore
from reaper.queries.base import Intercept

WrapStore = Callable[[str, ObjectStore], ObjectStore]


def make_app(
    settings: Settings,
    *,
    around: Intercept | None = None,
    stop: threading.Event | None = None,
    **parts: Any,
) -> App:
    """An App of which these parts (`reaper.app.Parts`) are not made of the settings."""
    replaced = Parts(**parts) if around is None else fault_points.intercepted(around, **parts)
    return App(settings, replaced, stop=stop or threading.Event())


def instead_of(points: Mapping[str, Callable[..., Any]]) -> Intercept:
    """An intercept that hands calls of these names, with their arguments, to a function each."""

    def surrounding(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        return points[point](call, *arguments) if point in points else call(*arguments)

    return surrounding


def nested(outer: Intercept, inner: Intercept) -> Intercept:
    """An intercept within another; the outer one still sees on what the call is made."""

    def surrounding(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        return outer(point, Within(inner, point, call), *arguments)

    return surrounding


class Within:
    """A call inside an intercept; `args` are those that were bound to it."""

    def __init__(self, inner: Intercept, point: str, call: Callable[..., Any]) -> None:
        self._inner = inner
        self._point = point
        self._call = call
        self.args = getattr(call, "args", ())

    def __call__(self, *arguments: Any) -> Any:
        return self._inner(self._point, self._call, *arguments)
