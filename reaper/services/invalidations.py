"""Invalidations: cache entries of pastes that are gone or were deleted early, until Redis confirms."""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick


def tick(context: Context) -> Tick:
    """Try all that is due; what fails again has its next attempt later, so this ends."""
    done = context.retries.drop_entries(context.ask, context.stop)
    waiting = context.ask(lambda q: q.waiting_invalidations())
    return Tick({"dropped": done.gone, "failed": done.failed}, more=done.more, waiting=waiting)


SERVICE = Service(
    "invalidations",
    "1 minute",
    tick,
    "drops cache entries that could not be dropped before",
    changes_buckets=False,
)
