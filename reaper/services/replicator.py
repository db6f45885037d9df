"""The replicator: contents with too few good copies get one more, the most endangered first.

It first sweeps over content, a window at a time, which enters what wants a copy; a full pass is due once an
hour, and at once when the factor or the backends change. Then it copies what is wanted, from a good copy on a
backend that answers, until nothing is left that can be copied now. A source that is missing or corrupt is
reported, and the next one is tried. A copy is announced before its first byte is sent; what a dead process
left is ended by the pending reaper. Runs when a worker starts, too.
"""

from __future__ import annotations

from collections import Counter

from reaper.services.base import Context, Service, Tick
from reaper.storage.copier import AT_ONCE, Copier

WINDOW = 10_000
# Windows between two rounds of copying: what is found first need not wait for the end of the pass.
WINDOWS = 20


def tick(context: Context) -> Tick:
    """Sweep and copy until nothing is wanted, or the time is over."""
    figures = Counter(swept=0, wanted=0, copied=0, moved=0, repaired=0, failed=0)
    complete = False
    with Copier(context.ask, context.stores, context.telemetry, context.stop) as copier:
        while not context.stop.is_set() and not complete:
            complete = _sweep(context, figures)
            figures += copier.make_all(
                lambda: context.ask(lambda q: q.claim_copies(AT_ONCE)),
                lambda: context.ask(lambda q: q.copies_are_due()),
            )
    return Tick(_with_zeros(figures), more=not complete or context.stop.is_set())


def _sweep(context: Context, figures: Counter[str]) -> bool:
    """Look at some windows; whether the pass has come to its end."""
    for _ in range(WINDOWS):
        if context.stop.is_set():
            return False
        window = context.ask(lambda q: q.sweep_copies(WINDOW))
        figures.update(swept=window.looked_at, wanted=window.wanted)
        if window.complete:
            return True
    return False


def _with_zeros(figures: Counter[str]) -> dict[str, int]:
    return {name: figures[name] for name in (*_SHOWN, *sorted(figures.keys() - set(_SHOWN)))}


_SHOWN = ("swept", "wanted", "copied", "moved", "repaired", "failed")

SERVICE = Service(
    "replicator",
    "5 minutes",
    tick,
    "copies contents that have too few good copies",
    at_start=True,
)
