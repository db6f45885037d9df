"""What is owed: objects and cache entries whose deletion failed are tried again when they are due."""

from __future__ import annotations

from reaper.service import Service, Tick, Tools


def tick(tools: Tools) -> Tick:
    """Try all that is due; what fails again has its next attempt later, so this ends."""
    tools.lane.retry_owed()
    return Tick(more=tools.stop.is_set())


SERVICE = Service("owed", "1 minute", tick, "retries deletions of objects and cache entries that failed")
