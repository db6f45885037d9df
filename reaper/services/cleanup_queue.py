"""The cleanup queue: objects whose deletion failed are tried again when they are due.

Every backend has a thread and claims of its own, so that one which is slow delays nobody. One whose circuit
is open is not asked, which costs its objects no attempt. After ten refusals, or one for good, an operator
decides.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick


def tick(context: Context) -> Tick:
    """Try all that was due when the pass began."""
    done = context.retries.delete_objects(context.ask, context.stop)
    return Tick({"deleted": done.gone, "failed": done.failed}, more=done.more)


SERVICE = Service("cleanup_queue", "1 minute", tick, "retries deletions of objects that failed")
