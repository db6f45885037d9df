"""Every part of an App that a test replaces is replaced here, and nowhere else.

An `around` is put around each query and each call of a port (`reaper.dev.fault_points`): it sees the name of
the call and its arguments, and makes the call or does something instead. Tests that have to act between two
queries, to lose an answer or to kill the process write one of these.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reaper.app import App
from reaper.config.settings import Settings
from reaper.dev import fault_points
from reaper.dev.fault_points import Around
from reaper.ports import ObjectStore
from reaper.queries import Queries

WrapStore = Callable[[str, ObjectStore], ObjectStore]


def make_app(
    settings: Settings,
    *,
    around: Around | None = None,
    wrap_store: WrapStore | None = None,
    **parts: Any,
) -> App:
    """An App of which these parts are not made of the settings: buckets, stores, cache, pastes, claim_lock.

    `wrap_store` is put around every store, outside of its circuit.
    """
    app = App(settings)
    app.__dict__.update(parts)
    if wrap_store is not None:
        app.__dict__["stores"] = {name: wrap_store(name, store) for name, store in app.stores.items()}
    if around is not None:
        _surround(app, around)
    return app


def _surround(app: App, around: Around) -> None:
    """Until the App is closed: the queries are those of the whole process."""
    names = (*fault_points.COMMITS, *fault_points.QUESTIONS)
    for name in names:
        app._open.callback(setattr, Queries, name, getattr(Queries, name))
    fault_points.surround(app, around)


def instead_of(points: Mapping[str, Callable[..., Any]]) -> Around:
    """An around that hands calls of these names, with their arguments, to a function each."""

    def surrounding(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        return points[name](call, *arguments) if name in points else call(*arguments)

    return surrounding


def nested(outer: Around, inner: Around) -> Around:
    """An around within another."""

    def surrounding(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        return outer(name, lambda *given: inner(name, call, *given), *arguments)

    return surrounding
