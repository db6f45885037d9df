"""Pruning: finished jobs are deleted after a week, figures and errors after ninety days; audits never.

Events that were delivered are kept for a week, those that were given up for ninety days.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick

AT_ONCE = 1000


def tick(context: Context) -> Tick:
    """Forget in bounded statements until nothing old is left or the time is over."""
    jobs = history = deliveries = 0
    more = True
    while more and not context.stop.is_set():
        pruned = context.ask(lambda q: q.prune_jobs(AT_ONCE))
        forgotten = context.ask(lambda q: q.prune_history(AT_ONCE))
        delivered = context.ask(lambda q: q.prune_deliveries(AT_ONCE))
        jobs, history, deliveries = jobs + pruned, history + forgotten, deliveries + delivered
        more = max(pruned, forgotten, delivered) >= AT_ONCE
    return Tick({"jobs": jobs, "history": history, "deliveries": deliveries}, more)


SERVICE = Service("prune", "1 hour", tick, "deletes finished jobs and old history", changes_buckets=False)
