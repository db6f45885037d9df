"""The drain: deletes what has expired, in as many slots as `reaper.settings.drain_slots` says.

Not locked, since any number of drains share a backlog. Each slot is a job of its own, and comes back until a
claim from the start finds nothing. With the schedule `continuous` it looks every 5 seconds, day and night.
"""

from __future__ import annotations

from dataclasses import asdict

from reaper.services.base import Context, Service, Tick


def tick(context: Context) -> Tick:
    """Adopt, retry, then reap batch after batch."""
    drained = context.drain()
    retried = {"retries_deleted": drained.retried.gone, "retries_failed": drained.retried.failed}
    return Tick({**asdict(drained.adopted.figures + drained.figures), **retried}, more=not drained.done)


SERVICE = Service(
    "drain", "0 0 * * *", tick, "deletes expired pastes, their objects and cache entries", locked=False
)
