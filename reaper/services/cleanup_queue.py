"""The cleanup queue: objects whose deletion failed are tried again when they are due.

Every backend has a thread and claims of its own, so that a slow backend delays only its own objects. One
whose circuit is open is not asked, which costs its objects no attempt. After ten refusals, or a permanent
one, the object goes to the DLQ.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick

AT_ONCE = 1000


def tick(context: Context) -> Tick:
    """Try all that was due when the pass began."""
    context.look_for_objects()
    # Untracked objects whose names were retired come into the queue once no open transaction can name them.
    context.ask(lambda q: q.finish_untracked(AT_ONCE))
    done = context.retries.delete_objects(context.ask, context.stop)
    return Tick({"deleted": done.gone, "failed": done.failed}, more=done.more)


SERVICE = Service("cleanup_queue", "1 minute", tick, "retries deletions of objects that failed")
