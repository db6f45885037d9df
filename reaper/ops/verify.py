"""Do database, buckets and cache agree? Read-only, both ways, page by page, while workers run.

The system runs meanwhile, so what looks wrong at first sight is only a suspect: at the end each one is asked
about again, in an order that no correct system gets wrong: an object comes before its row, and goes after it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from reaper.errors import ConfigError, ReaperError, describe
from reaper.model import StoredObject
from reaper.ops.verify_report import (
    KEPT,
    MISSING,
    ORPHAN,
    STALE,
    UNSEEN,
    WRONG_SIZE,
    LostContent,
    Report,
    place,
)
from reaper.ports import Cache, ObjectStore
from reaper.queries import Queries
from reaper.queries.checks import ExpectedObject, KnownObject
from reaper.storage.owner_marker import is_own

T = TypeVar("T")
Watch = Callable[[str, int], None]

PAGE = 1000
# A writer stores the object before it inserts the row: so long it may take from the one to the other.
GRACE = 5.0
_BIND = (
    "Bind object_key to the column or expression that names them ([tables.content] in reaper.toml, then"
    " reaper migrate), unless this is the wrong bucket"
)


def unwatched(_: str, __: int) -> None:
    """Told how far the work is, do nothing."""


@dataclass(frozen=True)
class Verifier:
    """Compares the buckets and the cache with PostgreSQL.

    `names_are_ours` says whether a cache key without paste must be a paste's: only a template with text of
    its own makes keys that no other program has.
    """

    q: Queries
    stores: Mapping[str, ObjectStore]
    cache: Cache
    names_are_ours: bool
    watch: Watch = unwatched
    wait: Callable[[float], None] = time.sleep
    report: Report = field(default_factory=Report)

    def run(self, repair: bool = False) -> Report:
        """Look at everything; with `repair`, set wrong ref_counts and byte accounts right first."""
        if repair:
            self._repair()
        self._check_invariants()
        for backend in sorted({*self.stores, *self.q.backends_in_use()}):
            self._check_backend(backend)
        self._check_cache()
        self._count_owed()
        return self.report

    def _repair(self) -> None:
        while repaired := self.q.repair_counts(PAGE):
            self.report.seen["repaired counts"] += len(repaired)
            self.report.repaired += repaired[: KEPT - len(self.report.repaired)]
            self.watch("repairing", len(repaired))
        self.report.repaired_accounts += self.q.repair_accounts()

    def _check_invariants(self) -> None:
        self.watch("invariants", 0)
        for violation in self.q.check_invariants():
            self.report.add(violation.invariant, violation.subject, violation.detail)

    def _check_backend(self, backend: str) -> None:
        """A backend that cannot be listed is a finding, because its objects were not compared."""
        store = self.stores.get(backend)
        try:
            if store is None:
                raise ConfigError("the backend is not configured here", "Add it to reaper.toml.")
            BackendComparison(backend, store, self.q, self.report, self.watch, self.wait).check()
        except ReaperError as error:
            self.report.add(UNSEEN, backend, describe(error))

    def _count_owed(self) -> None:
        for what, number in self.q.queue_counts().items():
            self.report.seen[what] += number

    def _check_cache(self) -> None:
        suspects: dict[str, None] = {}
        try:
            for codes in self.cache.codes():
                suspects |= dict.fromkeys(self._stale(codes))
                self.watch("cache", len(codes))
            for page in _pages(list(suspects)):
                self._confirm_stale(page)
                self.watch("checking again", len(page))
        except ReaperError as error:
            self.report.notes.append(f"cache not checked: {error.message}")

    def _stale(self, codes: Sequence[str]) -> list[str]:
        judged = self.q.check_cached(codes)
        stale = [code for code, judgement in judged.items() if self._is_stale(judgement)]
        self.report.seen["cache entries"] += len(codes)
        self.report.seen["waiting for the drain"] += sum(j in ("waiting", "queued") for j in judged.values())
        if not self.names_are_ours:
            self.report.seen["unjudged"] += sum(judgement == "unknown" for judgement in judged.values())
        return stale

    def _is_stale(self, judgement: str) -> bool:
        return judgement == "overdue" or (judgement == "unknown" and self.names_are_ours)

    def _confirm_stale(self, codes: Sequence[str]) -> None:
        present = list(self.cache.present(codes))
        for code, judgement in self.q.check_cached(present).items():
            if self._is_stale(judgement):
                overdue = judgement == "overdue"
                self.report.add(
                    STALE, code, "its paste expired over 26 hours ago" if overdue else "its paste is gone"
                )


@dataclass(frozen=True)
class BackendComparison:
    """One backend, compared object by object with what PostgreSQL says lies there."""

    backend: str
    store: ObjectStore
    q: Queries
    report: Report
    watch: Watch
    wait: Callable[[float], None]

    def check(self) -> None:
        """Both ways: objects that are missing or differ, and objects that no row names."""
        orphans: list[str] = []
        missing: list[str] = []
        resized: list[str] = []
        seen: Counter[str] = Counter()
        for page in _pages(side_by_side(self._stored(), self._expected())):
            missing += [expected.object_key for stored, expected in page if stored is None and expected]
            resized += [
                stored.key for stored, expected in page if stored and expected and _differs(stored, expected)
            ]
            orphans += self._unknown([stored.key for stored, expected in page if stored and expected is None])
            seen["objects"] += sum(stored is not None for stored, _ in page)
            seen["copies"] += sum(expected is not None for _, expected in page)
            self.watch("objects", len(page))
        self._ask_again(self._confirm_missing, missing)
        if orphans:
            self.watch("waiting for writers", 0)
            self.wait(GRACE)
        self._ask_again(self._confirm_orphans, orphans)
        self._ask_again(self._confirm_sizes, resized)
        self.report.seen.update(seen)
        if 2 * len(missing) > seen["copies"] and 2 * len(orphans) > seen["objects"]:
            self._note_other_names(missing, orphans, seen)

    def _note_other_names(self, missing: list[str], unknown: list[str], seen: Counter[str]) -> None:
        """Rows and bucket hardly know a name of each other: one rule is wrong, and not so many objects."""
        self.report.notes.append(
            f"{len(missing):,} of {seen['copies']:,} objects that rows name are missing on backend"
            f" {self.backend}, and {len(unknown):,} of {seen['objects']:,} objects there are unknown:"
            f" the rows name {missing[0]}, the bucket has {unknown[0]}. {_BIND}"
        )

    def _ask_again(self, confirm: Callable[[Sequence[str]], None], suspects: Sequence[str]) -> None:
        for page in _pages(suspects):
            confirm(page)
            self.watch("checking again", len(page))

    def _unknown(self, keys: Sequence[str]) -> list[str]:
        known = self.q.known_objects(self.backend, keys) if keys else {}
        return [key for key in keys if key not in known]

    def _confirm_missing(self, keys: Sequence[str]) -> None:
        """Absent, then still named by content, then still absent: nothing that runs looks like this."""
        absent = self._absent(keys)
        known = self.q.known_objects(self.backend, absent)
        wanted = [key for key in absent if key in known and known[key].is_content]
        self._report_lost({key: known[key] for key in self._absent(wanted)})

    def _absent(self, keys: Sequence[str]) -> list[str]:
        found = self.store.find(keys)
        return [key for key in keys if key not in found]

    def _report_lost(self, lost: dict[str, KnownObject]) -> None:
        pastes = self.q.live_pastes([known.content_hash or "" for known in lost.values()])
        for key, known in lost.items():
            content_hash = known.content_hash or ""
            live, examples = pastes.get(content_hash, (0, []))
            others = self._other_copies(content_hash)
            self.report.add_lost(LostContent(content_hash, self.backend, key, live, examples, others))

    def _other_copies(self, content_hash: str) -> list[str]:
        """Where else rows name a copy that nobody found missing or corrupt; not asked without end."""
        if self.report.counts[MISSING] >= KEPT:
            return []
        copies = [copy for copy in self.q.copies_detail(content_hash) if copy.kind == "copy"]
        return [
            copy.backend
            for copy in copies
            if copy.backend and copy.backend != self.backend and not copy.trouble
        ]

    def _confirm_orphans(self, keys: Sequence[str]) -> None:
        """Unknown, still there, still unknown: not on its way out, and not on its way in."""
        stored = self.store.find(self._unknown(keys))
        for key in self._unknown(list(stored)):
            self.report.add(ORPHAN, self._named(key), f"{stored[key].size:,} bytes, no row names it")

    def _confirm_sizes(self, keys: Sequence[str]) -> None:
        known = self.q.known_objects(self.backend, keys)
        for key, found in self.store.find(keys).items():
            expected = known.get(key)
            if expected and expected.is_content and _differs(found, expected):
                has = f"content {expected.content_hash} has {expected.size_bytes:,}"
                self.report.add(WRONG_SIZE, self._named(key), f"{found.size:,} bytes are stored, {has}")

    def _stored(self) -> Iterator[StoredObject]:
        """Every object in the bucket but reaper's own."""
        return (found for found in self.store.list() if not is_own(found.key))

    def _expected(self) -> Iterator[ExpectedObject]:
        """Every object that ought to lie there, in byte order, page by page."""
        after = ""
        while page := self.q.expected_objects(after, PAGE, self.backend):
            yield from page
            after = page[-1].object_key

    def _named(self, key: str) -> str:
        return place(self.backend, key)


def side_by_side(
    stored: Iterator[StoredObject], expected: Iterator[ExpectedObject]
) -> Iterator[tuple[StoredObject | None, ExpectedObject | None]]:
    """Both sequences, which are in byte order of their keys, with what belongs together in one pair."""
    left, right = next(stored, None), next(expected, None)
    while left or right:
        here = min(([left.key] if left else []) + ([right.object_key] if right else []))
        a = left if left and left.key == here else None
        b = right if right and right.object_key == here else None
        yield a, b
        left = next(stored, None) if a else left
        right = next(expected, None) if b else right


def _differs(stored: StoredObject, expected: ExpectedObject | KnownObject) -> bool:
    """Whether the sizes differ; 0 means that no size was recorded."""
    return bool(expected.size_bytes) and stored.size != expected.size_bytes


def _pages(things: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(things)
    while page := list(islice(rest, PAGE)):
        yield page
