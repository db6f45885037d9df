"""Invalidations: cache entries of pastes that are gone or were deleted early, until Redis confirms."""

from __future__ import annotations

from reaper.services.base import Service, Tick, Tools


def tick(tools: Tools) -> Tick:
    """Try all that is due; what fails again has its next attempt later, so this ends."""
    done = tools.lane.cleanup.drop_entries()
    return Tick({"dropped": done.gone, "failed": done.failed}, more=done.more)


SERVICE = Service("invalidations", "1 minute", tick, "drops cache entries that could not be dropped before")
