"""The over-replication cleaner: what has more copies than it should loses those that are too many.

The copies that are to stay are looked for first (HEAD); PostgreSQL then recounts under the content's lock and
counts only those that were just seen. It never goes below the factor, never removes the last verified copy,
and where a backend does not answer the copy stays. A copy that turns out missing, or of another size than
reaper counted, is reported. Objects go through the cleanup queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from reaper.errors import ReaperError
from reaper.model import Excess, is_own_key
from reaper.services.base import Context, Service, Tick

AT_ONCE = 200
THREADS = 16

Seen = list[tuple[str, str]]


def tick(context: Context) -> Tick:
    """Remove what is too many until nothing is that can be removed now, or the time is over."""
    figures = Counter(removed=0, kept=0, gone=0)
    with ThreadPoolExecutor(THREADS, "look") as pool:
        while not context.stop.is_set():
            excess = context.ask(lambda q: q.claim_excess(AT_ONCE))
            if not excess:
                return Tick(figures)
            _remove(context, pool, excess, figures)
    return Tick(figures, more=True)


def _remove(
    context: Context, pool: ThreadPoolExecutor, excess: Sequence[Excess], figures: Counter[str]
) -> None:
    looks = [pool.submit(_look, context, each) for each in excess]
    for each, look in zip(excess, looks, strict=True):
        seen = look.result()
        if context.stop.is_set():
            return
        outcome = context.ask(lambda q, each=each, seen=seen: q.remove_copy(each, seen))  # type: ignore[misc]
        figures[outcome.partition(":")[0]] += 1


def _look(context: Context, excess: Excess) -> Seen:
    """The copies that are to stay and are there."""
    if context.stop.is_set():
        return []
    kept = zip(excess.keep_backends, excess.keep_keys, excess.keep_sizes, strict=True)
    return [(backend, key) for backend, key, size in kept if _is_there(context, excess, backend, key, size)]


def _is_there(context: Context, excess: Excess, backend: str, key: str, size: int | None) -> bool:
    store = context.stores.get(backend)
    if store is None:
        return False
    try:
        found = store.head(key)
    except ReaperError:
        # The circuit knows; the copy that was to go stays.
        return False
    if found is not None and (size is None or found.size == size):
        return True
    if found is not None and not is_own_key(excess.content_hash, key):
        return False
    trouble, detail = (
        ("missing", "it is not there")
        if found is None
        else (
            "corrupt",
            f"it has {found.size} bytes instead of {size}",
        )
    )
    context.telemetry.copy_trouble(backend, key, trouble, detail)
    try:
        context.ask(lambda q: q.report_copy(excess.content_hash, backend, key, trouble, detail))
    except ReaperError as error:
        context.telemetry.copy_not_reported(error)
    return False


SERVICE = Service("over_replication", "5 minutes", tick, "removes copies that are too many")
