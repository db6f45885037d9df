"""Usage flush: what all processes have used is brought to PostgreSQL, and what quiet ones had is added up.

Each process flushes its own totals; this service flushes those that processes have left in Redis, so that a
death costs a second of counting instead of half a minute. Where Redis is configured it runs alone, whether or
not Redis answers.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick

AT_ONCE = 1000


def tick(context: Context) -> Tick:
    """Flush what is known here, fold what is quiet, and record which backends are nearly full."""
    flushed = context.usage.flush_all()
    folded = deleted = 0
    more = True
    while more and not context.stop.is_set():
        done = context.ask(lambda q: q.fold_usage(AT_ONCE))
        folded, deleted = folded + done.folded, deleted + done.deleted
        more = max(done.folded, done.deleted) >= AT_ONCE
    nearly_full = context.ask(lambda q: q.record_nearly_full())
    forgotten = context.usage.forget_silent()
    figures = {
        "flushed": flushed,
        "folded": folded,
        "deleted": deleted,
        "nearly_full": nearly_full,
        "forgotten": forgotten,
    }
    return Tick(figures, more)


SERVICE = Service(
    "usage_flush",
    "30 seconds",
    tick,
    "brings the S3 requests that processes counted to PostgreSQL",
    only_locked_with_redis=True,
    changes_buckets=False,
)
