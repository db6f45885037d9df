"""Orders about the DLQ that take many batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from reaper.queries import Queries
from reaper.queries.dlq import DlqFilter, DlqGroup

# The service that tries queued deletions.
RETRYING = "cleanup_queue"


def retry_all(q: Queries, chosen: DlqFilter, groups: Iterable[DlqGroup], reason: str | None) -> Iterator[int]:
    """Queue the deletions again, batch after batch; how many were moved by each."""
    return _batches(chosen, groups, lambda part: q.retry_dlq(part, reason))


def write_off_all(
    q: Queries, chosen: DlqFilter, groups: Iterable[DlqGroup], reason: str, free_names: bool
) -> Iterator[int]:
    """Delete the entries and leave the objects, batch after batch; how many were written off by each."""
    return _batches(chosen, groups, lambda part: q.write_off_dlq(part, reason, free_names))


def who_tries(q: Queries) -> str:
    """When queued deletions are tried; what keeps them from it, and the remedy."""
    if pause := q.pause_of(RETRYING):
        return f"not tried before the pause ends: {pause} (reaper service resume {RETRYING})"
    if any(service.name == RETRYING and not service.enabled for service in q.schedule()):
        return f"service {RETRYING} is off: reaper service enable {RETRYING}, or reaper drain tries them"
    if not any(worker.alive for worker in q.fleet()):
        return "no worker is alive to try them: start one (reaper worker), or run reaper drain"
    return "workers try them within a minute"


def _batches(
    chosen: DlqFilter, groups: Iterable[DlqGroup], settle: Callable[[DlqFilter], int]
) -> Iterator[int]:
    for group in groups:
        # By backend and cause: for that there is an index.
        part = replace(chosen, backend=group.backend, cause=group.cause)
        while settled := settle(part):
            yield settled
