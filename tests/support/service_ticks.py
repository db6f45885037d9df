"""Ticks of services without a worker around them."""

from reaper.app import App
from reaper.services import watchdog
from reaper.services.base import Context, Tick


def context(app: App, slot: str = "service:test") -> Context:
    """What a tick works with, on a session that stays open; its drain has a lane of its own."""
    session = app.session(slot)
    return app.context(session.call, app.stop, 60.0, lambda: app.lane(session, app.stop).run())


def watchdog_tick(app: App) -> Tick:
    """Let the watchdog look once."""
    return watchdog.tick(context(app, "watchdog:0"))
