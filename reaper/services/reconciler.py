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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from uuid import uuid4

from reaper.concurrency import for_each
from reaper.db.retry import is_transient
from reaper.errors import DatabaseError, KeyRetired, ReaperError, Unreachable
from reaper.model import StoredDigest, StoredObject
from reaper.ports import ObjectStore
from reaper.queries.checks import ExpectedObject
from reaper.queries.integrity import BackendIntegrity, Pass, Window
from reaper.services.base import Context, Service, Tick
from reaper.storage.copy_check import digest, named_and_absent

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
    """The same for these backends; one that fails keeps no other from being compared.

    What failed is raised when the others have ended, since a failed run does not come back before its
    schedule.
    """
    walks = _walked(context, backends)
    if walks and all(walk.failure for walk in walks):
        walks += _walked(context, sorted(set(backends) - {walk.work.backend for walk in walks}))
    figures = Counter(dict.fromkeys(FIGURES, 0))
    for walk in walks:
        figures.update(walk.figures)
    if any(not walk.ended for walk in walks if not walk.failure):
        return Tick(figures, more=True)
    for walk in walks:
        if walk.failure:
            raise walk.failure
    _require_no_brake(context, backends)
    return Tick(figures)


def _walked(context: Context, backends: Sequence[str]) -> list[BackendWalk]:
    """Go on with those of their passes that are open, or begin new ones, and tell how that went."""
    passes = context.ask(lambda q: q.begin_reconciliation(backends)) if backends else []
    return list(for_each([work.backend for work in passes], _walk(context, passes)).values())


def _require_no_brake(context: Context, backends: Sequence[str]) -> None:
    """Raise what stopped a pass of this round in an earlier run."""
    for state in context.ask(lambda q: q.integrity()):
        if state.backend in backends and state.phase == "braked":
            raise _braked(state)


def _braked(state: BackendIntegrity) -> Braked:
    return Braked(
        f"comparison of backend {state.backend} stopped: {state.brake_reason}",
        "Check that the backend's bucket, prefix and endpoint are the right ones; nothing was changed."
        " See docs/integrity.md.",
    )


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

    def run(self) -> None:
        """Walk on from where the pass stands, and act on what it found when the listing has ended."""
        if self.work.phase == "listing":
            self._list()
        if self.work.phase == "settling" and not self.dry and not self.context.stop.is_set():
            self._settle()

    # The listing.

    def _list(self) -> None:
        """Windows of a page at most on either side, also where the listing ends too early."""
        listing = self.store.list(self.work.after_key)
        ahead: list[StoredObject] = []
        while self.work.phase == "listing" and not self.context.stop.is_set():
            ahead += islice(listing, PAGE - len(ahead))
            window = self._compare(ahead)
            self._record(window)
            ahead = [found for found in ahead if not _is_within(found.key, window.until)]

    def _record(self, window: Window) -> None:
        if self.dry:
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
            _require_no_brake(self.context, [self.work.backend])
        self.work = replace(self.work, phase=phase, after_key=window.until or "")

    def _compare(self, ahead: Sequence[StoredObject]) -> Window:
        """The bucket is asked first: objects come before their rows, and go after them."""
        after, wanted = self.work.after_key, self._page_of_expected()
        until = _end_of_window([found.key for found in ahead], [each.object_key for each in wanted])
        listed = {found.key: found.size for found in ahead if _is_within(found.key, until)}
        expected = {each.object_key: each for each in wanted if _is_within(each.object_key, until)}
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

    def _page_of_expected(self) -> list[ExpectedObject]:
        """What ought to lie behind the position of the pass."""
        return self.context.ask(lambda q: q.expected_objects(self.work.after_key, PAGE, self.work.backend))

    def _record_own(self, found: Sequence[ExpectedObject], listed: dict[str, int]) -> None:
        if not found or self.dry:
            return
        hashes = [wanted.content_hash for wanted in found]
        keys = [wanted.object_key for wanted in found]
        sizes = [listed[key] for key in keys]
        self.figures["recorded"] += self.context.ask(
            lambda q: q.record_own_objects(self.work, hashes, keys, sizes)
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
            lost = named_and_absent(self.context.ask, self.store, self.work.backend, list(suspects))
            self._clear([key for key in suspects if key not in lost])
            for key in lost:
                self._report_missing(suspects[key], key)

    def _clear(self, keys: Sequence[str]) -> None:
        if keys:
            self.context.ask(lambda q: q.delete_suspects(self.work.backend, keys))

    def _report_missing(self, content_hash: str, key: str) -> None:
        try:
            self.context.ask(lambda q: q.suspect_missing(content_hash, self.work.backend, key))
        except DatabaseError as error:
            if not is_transient(error):
                raise
            # Another transaction holds the content's row for long; the next pass finds the copy again.
            self._clear([key])

    def _act_on_untracked(self) -> None:
        if self.work.untracked == "report":
            return
        while not self.context.stop.is_set() and (page := self._page_of_untracked()):
            self._move_behind(self._retire(page) if self.work.untracked == "delete" else self._import(page))
        # What has to wait for open transactions is settled by the service cleanup_queue.
        self.figures["queued"] += self.context.ask(lambda q: q.finish_untracked(PAGE)).queued

    def _move_behind(self, key: str) -> None:
        self.context.ask(lambda q: q.record_settled(self.work, key))
        self.work = replace(self.work, after_key=key)

    def _page_of_untracked(self) -> list[str]:
        """The next; what is refused stays untracked, and is not read again in the same pass."""
        after = self.work.after_key
        found = self.context.ask(lambda q: q.untracked_objects(self.work.backend, A_DAY, after, PAGE))
        return [untracked.object_key for untracked in found]

    def _retire(self, keys: Sequence[str]) -> str:
        """The last of them."""
        self.figures["retired"] += self.context.ask(
            lambda q: q.retire_untracked(self.work.backend, keys, A_DAY)
        )
        return keys[-1]

    def _import(self, keys: Sequence[str]) -> str:
        """The last that was tried."""
        for key in keys:
            self.figures[self._import_one(key)] += 1
            if self.context.stop.is_set():
                break
        return key

    def _import_one(self, key: str) -> str:
        """Only bytes that are what their name says are taken in."""
        named = _DIGEST.search(key)
        found = self._digest(key) if named else None
        if named is None or found is None or found.sha256 != named[1]:
            return "refused"
        try:
            outcome = self.context.ask(
                lambda q: q.import_object(self.work.backend, key, found.sha256, found.size)
            )
        except DatabaseError as error:
            if not (isinstance(error, KeyRetired) or is_transient(error)):
                raise
            return "refused"
        return "imported" if outcome == "imported" else "refused"

    def _digest(self, key: str) -> StoredDigest | None:
        """What an object is; one that the store refuses to give keeps no other from being taken in."""
        try:
            return digest(self.store, key)
        except Unreachable:
            raise
        except ReaperError:
            return None


def _end_of_window(*sides: Sequence[str]) -> str | None:
    """The key up to which both sides are known; None = both have ended."""
    ends = [keys[-1] for keys in sides if len(keys) >= PAGE]
    return min(ends, key=str.encode, default=None)


def _is_within(key: str, until: str | None) -> bool:
    return until is None or key.encode() <= until.encode()


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
