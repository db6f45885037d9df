"""The watchdog: takes back what dead workers hold, and finishes the side effects that they left."""

from __future__ import annotations

from dataclasses import asdict

from reaper.services.base import Context, Service, Tick


def tick(context: Context) -> Tick:
    """Reset, then adopt."""
    reset = context.ask(lambda q: q.reset_stuck(context.settings.stuck_after))
    return Tick({**asdict(reset), "batches_adopted": context.adopt().batches})


SERVICE = Service("watchdog", "15 seconds", tick, "takes back what dead workers hold")
