"""The watchdog: takes back what dead workers hold, and finishes the side effects that they left."""

from __future__ import annotations

from reaper.expiry.watchdog import Watchdog
from reaper.services.base import Service, Tick, Tools


def tick(tools: Tools) -> Tick:
    """Reset, then adopt."""
    reset, adopted = Watchdog(tools.lane, tools.lane.telemetry, tools.stuck_after).tick()
    return Tick({"rows_reset": reset.rows_reset, "batches_reset": reset.batches_reset, "adopted": adopted})


SERVICE = Service("watchdog", "15 seconds", tick, "takes back what dead workers hold")
