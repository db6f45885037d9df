"""The pending reaper: what was begun and never ended is brought to its end.

Puts are committed for their writer, or dropped. Copies whose process died are dropped; they are made again.

Of a put, what lies under the intent's key decides, and is looked at outside any transaction; PostgreSQL
then decides again under the lease. A backend that does not answer decides nothing: its intents are looked
at later, while those of the others are resolved beside it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from reaper.concurrency import for_each
from reaper.errors import ClaimLost, ReaperError, Unreachable, describe
from reaper.model import PendingIntent
from reaper.services.base import Context, Service, Tick

AT_ONCE = 100
_SHA256 = re.compile("[0-9A-Fa-f]{64}")


def tick(context: Context) -> Tick:
    """Resolve what is overdue until nothing is, or the time is over."""
    figures = Counter(committed=0, dropped=0, deferred=0, copies_dropped=0)
    while not context.stop.is_set():
        dropped = context.ask(lambda q: q.drop_stale_copies(AT_ONCE))
        figures["copies_dropped"] += dropped
        if dropped < AT_ONCE:
            break
    while not context.stop.is_set():
        intents = context.ask(lambda q: q.claim_intents(AT_ONCE))
        if not intents:
            return Tick(figures)
        for outcomes in _resolve_side_by_side(context, intents).values():
            figures.update(outcomes)
    return Tick(figures, more=True)


def _resolve_side_by_side(context: Context, intents: Sequence[PendingIntent]) -> dict[str, Counter[str]]:
    by_backend: dict[str, list[PendingIntent]] = {}
    for intent in intents:
        by_backend.setdefault(intent.backend, []).append(intent)
    return for_each(
        by_backend, lambda backend: BackendResolver(context, backend).resolve_all(by_backend[backend])
    )


class BackendResolver:
    """One backend in one pass; after its first unanswered request the rest of its intents are not tried."""

    def __init__(self, context: Context, backend: str) -> None:
        self._context = context
        self._backend = backend
        self._store = context.stores.get(backend)
        self._silence: Unreachable | None = None

    def resolve_all(self, intents: Sequence[PendingIntent]) -> Counter[str]:
        """What became of them; those that time leaves undone come due again when their lease is over."""
        outcomes: Counter[str] = Counter()
        for intent in intents:
            if self._context.stop.is_set():
                break
            try:
                outcome = self._resolve(intent)
            except ClaimLost:
                self._context.telemetry.lease_lost(intent.lease)
            else:
                outcomes[outcome] += 1
        return outcomes

    def _resolve(self, intent: PendingIntent) -> str:
        try:
            size, sha256 = self._look(intent)
            return self._context.ask(lambda q: q.finish_intent(intent, size is not None, size, sha256))
        except ClaimLost:
            raise
        except ReaperError as error:
            if isinstance(error, Unreachable):
                self._silence = error
            text = describe(error)
            self._context.ask(lambda q: q.return_intent(intent, text))
            return "deferred"

    def _look(self, intent: PendingIntent) -> tuple[int | None, str | None]:
        """The size and, where the content's name is a SHA-256, that of the object; no size, no object."""
        if self._silence:
            raise self._silence
        if self._store is None:
            raise Unreachable(f"backend {self._backend} is not configured here")
        if _SHA256.fullmatch(intent.content_hash):
            digest = self._store.digest(intent.object_key)
            return (digest.size, digest.sha256) if digest else (None, None)
        found = self._store.find([intent.object_key]).get(intent.object_key)
        return (found.size if found else None), None


SERVICE = Service("pending_reaper", "1 minute", tick, "ends puts and copies that were not finished")
