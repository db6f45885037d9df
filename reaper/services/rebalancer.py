"""The rebalancer: copies move from full backends to empty ones, or the other way round.

PostgreSQL plans against simulated bytes: `settings.rebalance_strategy` spread evens the utilisation of
backends that have a quota, pack fills the fullest; differences below `settings.rebalance_threshold` are left
as they are. A move is a copy that is verified before its source goes, in the transaction that records it.
Off at first: look at `reaper rebalance --plan`, then call `reaper service enable rebalancer`.
"""

from __future__ import annotations

from collections import Counter

from reaper.model import CopyTask
from reaper.services.base import Context, Service, Tick
from reaper.storage.copier import AT_ONCE, Copier


def tick(context: Context) -> Tick:
    """Move until the plan is done, or the time is over."""
    figures = Counter(moved=0, failed=0)

    def claim() -> list[CopyTask]:
        return context.ask(lambda q: q.claim_moves(AT_ONCE))

    with Copier(context.ask, context.stores, context.telemetry, context.stop) as copier:
        # The first claim plans, and others would not wait for that.
        if first := claim():
            figures += copier.make(first)
        figures += copier.make_all(claim)
    return Tick({"moved": 0, "failed": 0, **figures}, more=context.stop.is_set())


SERVICE = Service(
    "rebalancer", "6 hours", tick, "moves copies from full backends to empty ones", enabled=False
)
