"""Unreferenced content: what is over a week old and named by no paste is collected, rows and objects.

Such content stays behind where an application deletes pastes by itself. Off by default, because one may keep
content without any paste on purpose: look at `reaper.unreferenced_content()` first, then call
`reaper service enable unreferenced`. How far a pass has come is kept in PostgreSQL; it may take many runs.
"""

from __future__ import annotations

from collections import Counter

from reaper.services.base import Context, Service, Tick

AT_ONCE = 1000


def tick(context: Context) -> Tick:
    """Walk on through the contents to the end of the pass, or until the time is over."""
    context.look_for_objects()
    figures = Counter(looked_at=0, collected=0, refused=0)
    while not context.stop.is_set():
        page = context.ask(lambda q: q.collect_unreferenced(AT_ONCE))
        figures.update(looked_at=page.looked_at, collected=page.collected, refused=page.refused)
        if page.collected:
            context.adopt()
        if page.looked_at < AT_ONCE:
            return Tick(figures)
    return Tick(figures, more=True)


SERVICE = Service(
    "unreferenced", "30 3 * * *", tick, "collects old content that no paste names", enabled=False
)
