"""Retention policies, run by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reaper.errors import BadArgument, ServicePaused
from reaper.ops.service_phase import paused
from reaper.queries import Queries


def batch_limit(q: Queries, name: str, wanted: int | None) -> int:
    """The limit of a batch, the policy's unless one is wanted; BadArgument where it is not enabled."""
    batch = q.policy_batch(name)
    if batch and not batch.enabled:
        raise BadArgument(
            f"retention policy {name} is not enabled, so nothing was deleted",
            f"First check what it deletes: reaper policy plan {name}. Then: reaper policy enable {name}",
        )
    # A policy that is not there is purge_aged's to refuse.
    return wanted or (batch.batch_limit if batch else 1)


def purge_all(
    q: Queries, name: str, limit: int, stopped: Callable[[], bool], despite_pause: bool = False
) -> Iterator[int]:
    """Delete batch after batch until one finds less than it may take; what each deleted.

    ServicePaused before the first batch that a pause holds back.
    """
    deleted = limit
    while deleted == limit and not stopped():
        try:
            deleted = q.purge_aged(name, limit, despite_pause)
        except ServicePaused as pause:
            raise paused(pause.message, f"policy:{name}") from None
        yield deleted
