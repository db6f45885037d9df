"""The reconciler: each bucket and the database, walked side by side in byte order, a window at a time.

What is known is fine; an application's own object without a location row gets one. What is expected and not
listed is looked for, and looked for again when the listing has ended: then it is missing. What no row names
is written down as a sighting; when it is seen again after a day, `set_untracked()` decides: it is reported,
imported or deleted. Too many missing objects, or an empty bucket, stop the pass before anything is changed.

Off by default, because a listing costs money: `reaper service enable reconciler`. Its position is kept in
PostgreSQL, so a pass may take many runs, and goes on where a process died.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from uuid import uuid4

from reaper.concurrency import for_each
from reaper.errors import ReaperError
from reaper.model import StoredObject
from reaper.ports import ObjectStore
from reaper.queries.checks import ExpectedObject
from reaper.queries.integrity import Pass, Window
from reaper.services.base import Context, Service, Tick

PAGE = 1000
A_DAY = timedelta(days=1)
_DIGEST = re.compile(r"(?:^|/)([0-9a-f]{64})(?:/|$)")
FIGURES = ("listed", "expected", "missing", "unknown", "recorded", "imported", "refused", "retired", "queued")


class Braked(ReaperError):
    """So much is missing that the bucket is probably the wrong one; nothing was changed."""


def tick(context: Context) -> Tick:
    """Go on with the passes that are open, or begin new ones, over all backends side by side."""
    return reconcile(context, sorted(context.stores))


def reconcile(context: Context, backends: Sequence[str]) -> Tick:
    """The same for these backends; one that fails keeps no other from being compared."""
    passes = context.ask(lambda q: q.begin_reconciliation(backends))
    walks = for_each([work.backend for work in passes], _walk(context, passes))
    figures = Counter(dict.fromkeys(FIGURES, 0))
    for walk in walks.values():
        figures.update(walk.figures)
    for walk in walks.values():
        if walk.failure:
            raise walk.failure
    return Tick(figures, more=any(not walk.ended for walk in walks.values()))


def compare(context: Context, backend: str) -> BackendWalk:
    """Compare a backend from one end to the other, and record nothing."""
    work = Pass(backend, uuid4(), "listing", "", "report")
    walk = BackendWalk(context, work, context.stores[backend], dry=True)
    walk.run()
    return walk


@dataclass
class BackendWalk:
    """One backend in one run."""

    context: Context
    work: Pass
    store: ObjectStore
    figures: Counter[str] = field(default_factory=Counter)
    failure: ReaperError | None = None
    ended: bool = False
    # Only compare: nothing is recorded.
    dry: bool = False
    unknown: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Walk on from where the pass stands, and act on what it found when the listing has ended."""
        if self.work.phase == "listing":
            self._list()
        if self.work.phase == "settling" and not self.dry and not self.context.stop.is_set():
            self._settle()

    # The listing.

    def _list(self) -> None:
        listing = self.store.list(self.work.after_key)
        while self.work.phase == "listing" and not self.context.stop.is_set():
            page = list(islice(listing, PAGE))
            self._record(self._compare(page))

    def _record(self, window: Window) -> None:
        if self.dry:
            self.unknown.update(window.unknown)
            phase = "listing" if window.until else "settling"
        else:
            phase = self.context.ask(lambda q: q.record_listed(self.work, window))
        self.figures.update(
            listed=window.listed,
            expected=window.expected,
            missing=len(window.missing),
            unknown=len(window.unknown),
        )
        if phase == "braked":
            raise self._braked()
        self.work = replace(self.work, phase=phase, after_key=window.until or "")

    def _compare(self, page: Sequence[StoredObject]) -> Window:
        """The bucket is asked first: objects come before their rows, and go after them."""
        after, until = self.work.after_key, page[-1].key if len(page) == PAGE else None
        listed = {found.key: found.size for found in page}
        expected = {wanted.object_key: wanted for wanted in self._expected(after, until)}
        self._record_own([wanted for key, wanted in expected.items() if key in listed], listed)
        unnamed = [key for key in listed if key not in expected]
        known = self.context.ask(lambda q: q.known_objects(self.work.backend, unnamed)) if unnamed else {}
        absent = [key for key in expected if key not in listed]
        there = self.store.find(absent) if absent else {}
        return Window(
            after=after,
            until=until,
            listed=len(listed),
            expected=len(expected),
            missing={key: expected[key].content_hash for key in absent if key not in there},
            unknown={key: listed[key] for key in unnamed if key not in known},
        )

    def _expected(self, after: str, until: str | None) -> Iterator[ExpectedObject]:
        """What ought to lie in a window."""
        while page := self._page_of_expected(after):
            for wanted in page:
                if until is not None and wanted.object_key.encode() > until.encode():
                    return
                yield wanted
            after = page[-1].object_key

    def _page_of_expected(self, after: str) -> list[ExpectedObject]:
        return self.context.ask(lambda q: q.expected_objects(after, PAGE, self.work.backend))

    def _record_own(self, found: Sequence[ExpectedObject], listed: dict[str, int]) -> None:
        if not found or self.dry:
            return
        hashes = [wanted.content_hash for wanted in found]
        keys = [wanted.object_key for wanted in found]
        sizes = [listed[key] for key in keys]
        self.figures["recorded"] += self.context.ask(
            lambda q: q.record_own_objects(self.work, hashes, keys, sizes)
        )

    def _braked(self) -> Braked:
        known = {state.backend: state for state in self.context.ask(lambda q: q.integrity())}
        reason = known[self.work.backend].brake_reason
        return Braked(
            f"comparison of backend {self.work.backend} stopped: {reason}",
            "Check that the backend's bucket, prefix and endpoint are the right ones; nothing was changed."
            " See docs/integrity.md.",
        )

    # What was found.

    def _settle(self) -> None:
        self._confirm_missing()
        self._act_on_untracked()
        if self.context.stop.is_set():
            return
        self.context.ask(lambda q: q.repair_accounts())
        self.context.ask(lambda q: q.finish_reconciliation(self.work, self.figures))
        self.ended = True

    def _confirm_missing(self) -> None:
        """Absent at the end of the pass as well: missing, unless its row is gone by now."""
        while not self.context.stop.is_set():
            suspects = self.context.ask(lambda q: q.suspects_due(self.work.backend, self.work.id, PAGE))
            if not suspects:
                return
            there = list(self.store.find(list(suspects)))
            self._clear(there)
            for key in suspects.keys() - set(there):
                self._report_missing(suspects[key], key)

    def _clear(self, keys: Sequence[str]) -> None:
        if keys:
            self.context.ask(lambda q: q.delete_suspects(self.work.backend, keys))

    def _report_missing(self, content_hash: str, key: str) -> None:
        self.context.ask(lambda q: q.suspect_missing(content_hash, self.work.backend, key))

    def _act_on_untracked(self) -> None:
        if self.work.untracked == "report":
            return
        after = ""
        while not self.context.stop.is_set():
            page = self._page_of_untracked(after)
            if not page:
                break
            after = page[-1]
            if self.work.untracked == "delete":
                self._retire(page)
            else:
                self._import(page)
        # What has to wait for open transactions is settled by the service cleanup_queue.
        self.figures["queued"] += self.context.ask(lambda q: q.finish_untracked(PAGE)).queued

    def _page_of_untracked(self, after: str) -> list[str]:
        found = self.context.ask(lambda q: q.untracked_objects(self.work.backend, A_DAY, after, PAGE))
        return [untracked.object_key for untracked in found]

    def _retire(self, keys: Sequence[str]) -> None:
        self.figures["retired"] += self.context.ask(
            lambda q: q.retire_untracked(self.work.backend, keys, A_DAY)
        )

    def _import(self, keys: Sequence[str]) -> None:
        for key in keys:
            if self.context.stop.is_set():
                return
            self.figures[self._import_one(key)] += 1

    def _import_one(self, key: str) -> str:
        """Only bytes that are what their name says are taken in."""
        named = _DIGEST.search(key)
        found = self.store.digest(key) if named else None
        if named is None or found is None or found.sha256 != named[1]:
            return "refused"
        outcome = self.context.ask(
            lambda q: q.import_object(self.work.backend, key, found.sha256, found.size)
        )
        return "imported" if outcome == "imported" else "refused"


def _walk(context: Context, passes: Sequence[Pass]) -> Callable[[str], BackendWalk]:
    by_backend = {work.backend: work for work in passes}

    def walk(backend: str) -> BackendWalk:
        mine = BackendWalk(context, by_backend[backend], context.stores[backend])
        try:
            mine.run()
        except ReaperError as error:
            mine.failure = error
        return mine

    return walk


SERVICE = Service(
    "reconciler", "24 hours", tick, "compares each bucket with the database, both ways", enabled=False
)
