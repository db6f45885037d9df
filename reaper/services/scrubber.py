"""The scrubber: copies are read and compared with what their content's hash says, before somebody needs them.

It goes round each backend, and reads a small sample of what lies elsewhere besides. A copy whose bytes are
wrong in two fresh reads is reported as corrupt, one that is not found twice, 15 minutes apart, as missing.
The replicator then makes another from a good one, and only its commit removes the bad bytes; nothing is
deleted here. Too many bad ones at once are more likely the store's fault than theirs: then the run stops
and reports none.

Off by default, because reading costs money: `reaper service enable scrubber`; `settings.scrub_bytes_per_day`
is the limit.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from reaper.concurrency import for_each
from reaper.errors import CircuitOpen, ReaperError, Unreachable
from reaper.ports import ObjectStore
from reaper.queries.integrity import CopyToScrub
from reaper.services.base import Context, Service, Tick
from reaper.storage.copy_check import Verdict, check

PAGE = 500
SAMPLE = 10
AT_A_TIME = 8
FIGURES = ("looked_at", "verified", "corrupt", "missing", "suspected", "lied", "unread", "bytes")
_SHA256 = re.compile("[0-9A-Fa-f]{64}")


class ScrubBraked(ReaperError):
    """So many copies seem corrupt that the store is probably answering wrongly; none was recorded."""


def tick(context: Context) -> Tick:
    """Read on all backends, side by side, until a round or the time is over; a failure stops no other."""
    runs = for_each(context.stores, lambda backend: _scrub(context, backend))
    figures = Counter(dict.fromkeys(FIGURES, 0))
    for run in runs.values():
        figures.update(run.figures)
    _prove_digest(context, list(runs.values()))
    for run in runs.values():
        if run.failure:
            raise run.failure
    return Tick(figures, more=any(run.has_more for run in runs.values()))


def _scrub(context: Context, backend: str) -> BackendScrub:
    run = BackendScrub(context, backend, context.stores[backend])
    try:
        run.run()
    except ReaperError as error:
        run.failure = error
    return run


def _prove_digest(context: Context, runs: Sequence[BackendScrub]) -> None:
    """A hundred objects with the SHA-256 that their hash says prove what the hashes are."""
    read, matched = sum(run.read for run in runs), sum(run.matched for run in runs)
    if read >= 100 and matched == read:
        context.ask(lambda q: q.record_digest_sample(read, matched))


@dataclass
class BackendScrub:
    """One backend in one run."""

    context: Context
    backend: str
    store: ObjectStore
    figures: Counter[str] = field(default_factory=Counter)
    corrupt: dict[str, Verdict] = field(default_factory=dict)
    absent: dict[str, Verdict] = field(default_factory=dict)
    # Objects whose content's hash may be a SHA-256, of adopted tables: how many were read, how many match.
    read: int = 0
    matched: int = 0
    has_more: bool = False
    failure: ReaperError | None = None
    after: str = ""
    left: int | None = None
    silence: Unreachable | None = None

    def run(self) -> None:
        """Read on where the last run ended; report what was found at the end, unless that is too much."""
        position = self.context.ask(lambda q: q.scrub_position(self.backend))
        self.after, self.left = position.after_key, position.bytes_left
        with ThreadPoolExecutor(AT_A_TIME, "scrub") as pool:
            self._read(pool, self._page(secrets.token_hex(4), SAMPLE))
            self._read_round(pool)
        self._report()
        if self.silence:
            raise self.silence

    def _read_round(self, pool: ThreadPoolExecutor) -> None:
        while not self._is_over():
            page = self._page(self.after, PAGE)
            self._read(pool, page)
            if self.silence:
                return
            ended = len(page) < PAGE
            self.after = "" if ended else page[-1].object_key
            if ended:
                return
        self.has_more = not self._used_up()

    def _is_over(self) -> bool:
        return self.context.stop.is_set() or self._used_up()

    def _used_up(self) -> bool:
        return self.left is not None and self.figures["bytes"] >= self.left

    def _page(self, after: str, limit: int) -> list[CopyToScrub]:
        return self.context.ask(lambda q: q.scrub_page(self.backend, after, limit))

    def _read(self, pool: ThreadPoolExecutor, page: Sequence[CopyToScrub]) -> None:
        verdicts = [v for v in pool.map(self._check, [copy for copy in page if copy.is_due]) if v]
        good = [verdict.copy for verdict in verdicts if verdict.outcome == "good"]
        if good:
            self.context.ask(lambda q: q.record_verified(self.backend, good))
            self.context.ask(lambda q: q.delete_suspects(self.backend, [copy.object_key for copy in good]))
        for verdict in verdicts:
            self._note(verdict)

    def _check(self, copy: CopyToScrub) -> Verdict | None:
        """None where the backend does not answer: that says nothing about the copy."""
        if self.silence or self._is_over():
            return None
        try:
            return check(self.store, copy)
        except CircuitOpen as error:
            self.silence = error
        except Unreachable as error:
            self.figures["unread"] += 1
            if self.figures["unread"] >= AT_A_TIME:
                self.silence = error
        return None

    def _note(self, verdict: Verdict) -> None:
        self.figures.update(looked_at=1, bytes=verdict.size, lied=verdict.lied)
        self.figures["verified"] += verdict.outcome == "good"
        if verdict.outcome == "corrupt":
            self.corrupt[verdict.copy.object_key] = verdict
        elif verdict.outcome == "missing":
            self.absent[verdict.copy.object_key] = verdict
        if verdict.sha256 and not verdict.copy.sha256 and _SHA256.fullmatch(verdict.copy.content_hash):
            self.read += 1
            self.matched += verdict.sha256 == verdict.copy.content_hash.lower()

    def _report(self) -> None:
        looked, bad, size = self.figures["looked_at"], len(self.corrupt), self.figures["bytes"]
        brake = self.context.ask(lambda q: q.scrub_brake(self.backend, looked, bad))
        if brake is None:
            for verdict in self.corrupt.values():
                self._report_corrupt(verdict)
            for verdict in self.absent.values():
                self._report_missing(verdict)
        self.context.ask(lambda q: q.record_scrubbed(self.backend, self.after, looked, bad, size, brake))
        if brake is not None:
            raise ScrubBraked(
                f"reading of backend {self.backend} stopped: {brake}",
                "Look at the store with another client; no copy was recorded. See docs/integrity.md.",
            )

    def _report_corrupt(self, verdict: Verdict) -> None:
        copy = verdict.copy
        self.context.ask(
            lambda q: q.report_copy(
                copy.content_hash, self.backend, copy.object_key, "corrupt", verdict.detail
            )
        )
        self.figures["corrupt"] += 1

    def _report_missing(self, verdict: Verdict) -> None:
        copy = verdict.copy
        outcome = self.context.ask(
            lambda q: q.suspect_missing(copy.content_hash, self.backend, copy.object_key)
        )
        self.figures["suspected" if outcome == "suspected" else "missing"] += 1


SERVICE = Service(
    "scrubber",
    "6 hours",
    tick,
    "reads stored copies and compares them with their hashes",
    enabled=False,
    changes_buckets=False,
)
