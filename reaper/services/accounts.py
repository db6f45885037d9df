"""Accounts: the rows of the byte accounts are folded into their sums, so that adding them up stays cheap."""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick

AT_ONCE = 10_000


def tick(context: Context) -> Tick:
    """Fold until little is left; what is added meanwhile is for the next run."""
    folded = 0
    more = True
    while more and not context.stop.is_set():
        rows = context.ask(lambda q: q.fold_accounts(AT_ONCE))
        folded, more = folded + rows, rows >= AT_ONCE
    return Tick({"folded": folded}, more)


SERVICE = Service(
    "accounts", "1 minute", tick, "sums up the byte accounts of the backends", changes_buckets=False
)
