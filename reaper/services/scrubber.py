"""The scrubber: copies are read and compared with what their content's hash says, before somebody needs them.

It goes round each backend, and reads a small sample of what lies elsewhere besides. A copy whose bytes are
wrong in two fresh reads is reported as corrupt, one that is not found twice, 15 minutes apart, as missing.
The replicator then makes another from a good one, and only its commit removes the bad bytes; nothing is
deleted here. Too many bad or missing ones at once are more likely the store's fault than theirs: then the
run stops and reports none. What the store refuses to give is counted as unread, and says nothing.

Off by default, because reading costs money: `reaper service enable scrubber`; `settings.scrub_bytes_per_day`
is the limit.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from reaper.concurrency import for_each
from reaper.db.retry import is_transient
from reaper.errors import CircuitOpen, DatabaseError, ReaperError, Unreachable
from reaper.ports import ObjectStore
from reaper.queries import Queries
from reaper.queries.integrity import CopyToScrub
from reaper.services.base import Context, Service, Tick
from reaper.storage.copy_check import Verdict, check, named_and_absent

PAGE = 500
SAMPLE = 10
AT_A_TIME = 8
FIGURES = ("looked_at", "verified", "corrupt", "missing", "suspected", "lied", "unread", "bytes")
_SHA256 = re.compile("[0-9A-Fa-f]{64}")


class ScrubBraked(ReaperError):
    """So many copies seem bad that the store is probably answering wrongly; none was recorded."""


def tick(context: Context) -> Tick:
    """Read on all backends, side by side, until a round or the time is over; a failure stops no other.

    A brake ends the service's work at once. Another failure is raised when the others have no more to do,
    since a failed run does not come back before its schedule.
    """
    runs = _scrub(context)
    figures = Counter(dict.fromkeys(FIGURES, 0))
    for run in runs:
        figures.update(run.figures)
    _prove_digest(context, runs)
    failures = [run.failure for run in runs if run.failure]
    braked = [failure for failure in failures if isinstance(failure, ScrubBraked)]
    more = any(run.has_more for run in runs if not run.failure)
    if braked or (failures and not more):
        raise (braked or failures)[0]
    return Tick(figures, more=more)


def _scrub(context: Context) -> list[BackendScrub]:
    """Rounds that have begun go on; new ones begin when each of those fails or has read enough for today.

    Else the first of two long rounds to end would begin again beside the other, and none would ever rest.
    """
    runs = [BackendScrub.begun(context, backend) for backend in sorted(context.stores)]
    under_way = [run for run in runs if run.after]
    others = [run for run in runs if not run.after]
    for_each(under_way, BackendScrub.try_to_run)
    if any(run.has_more or run.has_ended for run in under_way):
        return under_way
    for_each(others, BackendScrub.try_to_run)
    return runs


def _prove_digest(context: Context, runs: Sequence[BackendScrub]) -> None:
    """A hundred objects with the SHA-256 that their hash says prove what the hashes are."""
    read, matched = sum(run.read for run in runs), sum(run.matched for run in runs)
    if read >= 100 and matched == read:
        context.ask(lambda q: q.record_digest_sample(read, matched))


@dataclass(eq=False)
class BackendScrub:
    """One backend in one run."""

    context: Context
    backend: str
    store: ObjectStore
    # Where the round stands, and how many bytes may be read.
    after: str
    left: int | None
    figures: Counter[str] = field(default_factory=Counter)
    corrupt: dict[str, Verdict] = field(default_factory=dict)
    absent: dict[str, Verdict] = field(default_factory=dict)
    # Objects whose content's hash may be a SHA-256, of adopted tables: how many were read, how many match.
    read: int = 0
    matched: int = 0
    has_more: bool = False
    has_ended: bool = False
    failure: ReaperError | None = None
    # How many objects the backend did not answer for, whether it gave any, and why it is not asked on.
    unanswered: int = 0
    has_answered: bool = False
    silence: ReaperError | None = None
    _counting: Lock = field(default_factory=Lock)

    @classmethod
    def begun(cls, context: Context, backend: str) -> BackendScrub:
        """A run that goes on where the last one ended."""
        position = context.ask(lambda q: q.scrub_position(backend))
        return cls(context, backend, context.stores[backend], position.after_key, position.bytes_left)

    def try_to_run(self) -> None:
        """Run, and keep what goes wrong."""
        try:
            self.run()
        except ReaperError as error:
            self.failure = error

    def run(self) -> None:
        """Read; report what was found at the end, unless that is too much."""
        with ThreadPoolExecutor(AT_A_TIME, "scrub") as pool:
            self._read(pool, self._page(secrets.token_hex(4), SAMPLE))
            self._read_round(pool)
        self._report()
        if self.silence:
            raise self.silence

    def _read_round(self, pool: ThreadPoolExecutor) -> None:
        while not self._is_over():
            page = self._page(self.after, PAGE)
            done = self._read(pool, page)
            if done < len(page):
                self.after = page[done - 1].object_key if done else self.after
                break
            self.has_ended = len(page) < PAGE
            self.after = "" if self.has_ended else page[-1].object_key
            if self.has_ended:
                return
        self.has_more = self.silence is None and not self._used_up()

    def _is_over(self) -> bool:
        return self.silence is not None or self.context.stop.is_set() or self._used_up()

    def _used_up(self) -> bool:
        return self.left is not None and self.figures["bytes"] >= self.left

    def _page(self, after: str, limit: int) -> list[CopyToScrub]:
        return self.context.ask(lambda q: q.scrub_page(self.backend, after, limit))

    def _read(self, pool: ThreadPoolExecutor, page: Sequence[CopyToScrub]) -> int:
        """Look at what is due; returns how many copies come before the first for which it was too late."""
        known = self.corrupt.keys() | self.absent.keys()
        due = [copy for copy in page if copy.is_due and copy.object_key not in known]
        verdicts = list(pool.map(self._check, due))
        good = [verdict.copy for verdict in verdicts if verdict.outcome == "good"]
        if good:
            self.context.ask(lambda q: q.record_verified(self.backend, good))
            self.context.ask(lambda q: q.delete_suspects(self.backend, [copy.object_key for copy in good]))
        for verdict in verdicts:
            if verdict.outcome not in ("unread", "untried"):
                self._note(verdict)
        untried = {verdict.copy.object_key for verdict in verdicts if verdict.outcome == "untried"}
        return next((n for n, copy in enumerate(page) if copy.object_key in untried), len(page))

    def _check(self, copy: CopyToScrub) -> Verdict:
        """Unread is a copy that the store does not give: that says nothing about its bytes."""
        if self._is_over():
            return Verdict(copy, "untried")
        try:
            verdict = check(self.store, copy)
        except CircuitOpen as error:
            self.silence = error
            return Verdict(copy, "untried")
        except ReaperError as error:
            self._note_unread(error)
            return Verdict(copy, "unread")
        with self._counting:
            self.has_answered = True
            self.figures["bytes"] += verdict.size
        return verdict

    def _note_unread(self, error: ReaperError) -> None:
        """A store that refuses some objects may give others; one that gives none, or is silent, does not."""
        with self._counting:
            self.figures["unread"] += 1
            self.unanswered += isinstance(error, Unreachable)
            refuses_all = self.figures["unread"] >= AT_A_TIME and not self.has_answered
            if refuses_all or self.unanswered >= AT_A_TIME:
                self.silence = error

    def _note(self, verdict: Verdict) -> None:
        self.figures.update(looked_at=1, lied=verdict.lied)
        self.figures["verified"] += verdict.outcome == "good"
        if verdict.outcome == "corrupt":
            self.corrupt[verdict.copy.object_key] = verdict
        elif verdict.outcome == "missing":
            self.absent[verdict.copy.object_key] = verdict
        if verdict.sha256 and not verdict.copy.sha256 and _SHA256.fullmatch(verdict.copy.content_hash):
            self.read += 1
            self.matched += verdict.sha256 == verdict.copy.content_hash.lower()

    def _report(self) -> None:
        looked, bad = self.figures["looked_at"], len(self.corrupt) + len(self.absent)
        size = self.figures["bytes"]
        brake = self.context.ask(lambda q: q.scrub_brake(self.backend, looked, bad))
        if brake is None:
            for verdict in self.corrupt.values():
                self._report_corrupt(verdict)
            for key in self._still_absent():
                self._report_missing(self.absent[key])
        self.context.ask(lambda q: q.record_scrubbed(self.backend, self.after, looked, bad, size, brake))
        if brake is not None:
            raise ScrubBraked(
                f"reading of backend {self.backend} stopped: {brake}",
                "Look at the store with another client; no copy was recorded. See docs/integrity.md.",
            )

    def _still_absent(self) -> list[str]:
        """Not what was released, or stored anew, since it was read."""
        keys = list(self.absent)
        return named_and_absent(self.context.ask, self.store, self.backend, keys) if keys else []

    def _report_corrupt(self, verdict: Verdict) -> None:
        copy = verdict.copy
        self._tell(
            lambda q: q.report_copy(
                copy.content_hash, self.backend, copy.object_key, "corrupt", verdict.detail
            )
        )
        self.figures["corrupt"] += 1

    def _report_missing(self, verdict: Verdict) -> None:
        copy = verdict.copy
        outcome = self._tell(lambda q: q.suspect_missing(copy.content_hash, self.backend, copy.object_key))
        self.figures["missing" if outcome not in (None, "suspected") else "suspected"] += 1

    def _tell(self, report: Callable[[Queries], str]) -> str | None:
        """None where another transaction holds the content's row for long; the copy is due again then."""
        try:
            return self.context.ask(report)
        except DatabaseError as error:
            if not is_transient(error):
                raise
            return None


SERVICE = Service(
    "scrubber",
    "6 hours",
    tick,
    "reads stored copies and compares them with their hashes",
    enabled=False,
    changes_buckets=False,
)
