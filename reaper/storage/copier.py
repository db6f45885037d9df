"""Copies that PostgreSQL asks for, made several at a time; the replicator and the rebalancer share it.

Each backend that takes copies has threads of its own, and large objects have some, so that what is slow
delays only its like: more is claimed as soon as one of the backends has little to do. What is done is
committed while the rest is under way, and the lease of the rest is renewed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from time import monotonic
from uuid import UUID

from reaper.concurrency import Stop, for_each
from reaper.errors import ConfigError, ReaperError, describe
from reaper.model import CopyTask, FailedCopy, StoredCopy
from reaper.ports import ObjectStore
from reaper.queries import Ask
from reaper.storage.copying import Copying, Expected, SourceFailed
from reaper.telemetry.events import Telemetry

# Claimed at once by each of the lanes: while one asks PostgreSQL, the other copies.
AT_ONCE = 200
LANES = 2
# For each backend that takes copies.
THREADS = 8
# What is larger, or of unknown size, goes few at a time, so that the pieces in memory stay few.
SMALL = 1 << 20
LARGE_THREADS = 2
# Claims in a row that only find what fits nowhere; each looks at ten times as many contents as are claimed.
FRUITLESS = 50
# What a lane may have under way before it claims no more.
MOST = 1000
# How often what is done is committed, and how often a lease of two minutes is renewed.
TURN = 0.5
RENEWED_EVERY = 30.0

Claim = Callable[[], Sequence[CopyTask]]


class LeaseLost(ReaperError):
    """Another process has ended this copy."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A source that has no good bytes: missing or corrupt, in words."""

    backend: str
    object_key: str
    trouble: str
    detail: str


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one copy, and what was found on the way."""

    task: CopyTask
    result: StoredCopy | FailedCopy
    troubles: tuple[Trouble, ...] = ()


class Copier:
    """Makes copies in one run of a service; leave it, and its threads are gone."""

    def __init__(self, ask: Ask, stores: Mapping[str, ObjectStore], telemetry: Telemetry, stop: Stop) -> None:
        self._ask = ask
        self._stores = stores
        self._telemetry = telemetry
        self._stop = stop
        self._guard = threading.Lock()
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._large = ThreadPoolExecutor(LARGE_THREADS, "copy-large")

    def __enter__(self) -> Copier:
        return self

    def __exit__(self, *_: object) -> None:
        # What an error left unbegun is not begun: its lease would not be renewed any more.
        for pool in (self._large, *self._pools.values()):
            pool.shutdown(cancel_futures=True)

    def make_all(self, claim: Claim, is_due: Callable[[], bool] = lambda: False) -> Counter[str]:
        """Claim and copy until nothing is claimed or due, or it is time to stop; what became of all."""
        done = for_each(range(LANES), lambda _: self._lane(claim, is_due))
        return sum(done.values(), start=Counter())

    def make(self, tasks: Sequence[CopyTask]) -> Counter[str]:
        """Make these copies; what became of them."""
        claimed = [tasks]
        return self._lane(lambda: claimed.pop() if claimed else (), lambda: False)

    def _lane(self, claim: Claim, is_due: Callable[[], bool]) -> Counter[str]:
        done: Counter[str] = Counter()
        running: dict[Future[Made], CopyTask] = {}
        renewed: dict[UUID, float] = {}
        fruitless = 0
        while True:
            if fruitless < FRUITLESS and not self._stop.is_set() and self._has_little(running.values()):
                tasks = claim()
                running |= {self._submit(task): task for task in tasks}
                renewed |= {task.lease: monotonic() for task in tasks}
                fruitless = 0 if tasks else fruitless + 1 if is_due() else FRUITLESS
            elif not running:
                return done
            ended, _ = wait(running, TURN)
            done += self._settle([future.result() for future in ended])
            running = {future: task for future, task in running.items() if future not in ended}
            self._renew({task.lease for task in running.values()}, renewed)

    def _has_little(self, running: Collection[CopyTask]) -> bool:
        """Whether a backend that takes copies has less to do than it has threads."""
        waiting = Counter(task.destination for task in running if not _is_large(task))
        with self._guard:
            places = list(self._pools)
        least = min((waiting[place] for place in places), default=len(running))
        return not running or (len(running) < MOST and least < THREADS)

    def _renew(self, leases: Collection[UUID], renewed: dict[UUID, float]) -> None:
        for lease in leases:
            if monotonic() - renewed[lease] >= RENEWED_EVERY:
                renewed[lease] = monotonic()
                self._ask(lambda q, lease=lease: q.extend_copies(lease))  # type: ignore[misc]

    def _submit(self, task: CopyTask) -> Future[Made]:
        if _is_large(task):
            return self._large.submit(self._make, task)
        with self._guard:
            pool = self._pools.get(task.destination)
            if pool is None:
                pool = self._pools[task.destination] = ThreadPoolExecutor(THREADS, "copy")
        return pool.submit(self._make, task)

    def _make(self, task: CopyTask) -> Made:
        """Copy from the first source that has good bytes; raises nothing that is about this copy alone."""
        if self._stop.is_set():
            return Made(task, FailedCopy(task.intent_id, None, uploaded=False))
        return _Attempt(self._stores, task, self._begun(task)).run()

    def _begun(self, task: CopyTask) -> Callable[[str], None]:
        def note(upload_id: str) -> None:
            if not self._ask(lambda q: q.record_upload(task, upload_id)):
                raise LeaseLost(f"the copy of {task.content_hash} to {task.destination} was ended")

        return note

    def _settle(self, made: Sequence[Made]) -> Counter[str]:
        for each in made:
            for found in each.troubles:
                self._report(each.task, found)
        done: Counter[str] = Counter()
        for lease in {each.task.lease for each in made}:
            done += self._end(lease, [each for each in made if each.task.lease == lease])
        return done

    def _end(self, lease: UUID, made: Sequence[Made]) -> Counter[str]:
        """Commit and give back what one lease holds."""
        stored = [(m.task, m.result) for m in made if isinstance(m.result, StoredCopy)]
        failed = [(m.task, m.result) for m in made if isinstance(m.result, FailedCopy)]
        done = Counter(failed=sum(f.error is not None for _, f in failed))
        if stored:
            done += self._commit(lease, stored)
        if failed:
            self._fail(lease, failed)
        return done

    def _report(self, task: CopyTask, found: Trouble) -> None:
        self._telemetry.copy_trouble(found.backend, found.object_key, found.trouble, found.detail)
        self._ask(
            lambda q: q.report_copy(
                task.content_hash, found.backend, found.object_key, found.trouble, found.detail
            )
        )

    def _commit(self, lease: UUID, stored: Sequence[tuple[CopyTask, StoredCopy]]) -> Counter[str]:
        outcomes = self._ask(lambda q: q.commit_copies(lease, [copy for _, copy in stored]))
        self._give_up([task for task, _ in stored if outcomes[task.intent_id] == "lease_lost"])
        return Counter(outcomes.values())

    def _fail(self, lease: UUID, failed: Sequence[tuple[CopyTask, FailedCopy]]) -> None:
        held = self._ask(lambda q: q.fail_copies(lease, [copy for _, copy in failed]))
        if held < len(failed):
            self._give_up([task for task, copy in failed if copy.uploaded])

    def _give_up(self, tasks: Sequence[CopyTask]) -> None:
        """Their intents were ended, and their keys deleted, perhaps before our bytes arrived."""
        for task in tasks:
            self._telemetry.lease_lost(task.lease)
            self._ask(lambda q, task=task: q.enqueue_late_copy(task))  # type: ignore[misc]


def _is_large(task: CopyTask) -> bool:
    return task.size_bytes is None or task.size_bytes > SMALL


class _Attempt:
    """One copy: the sources one after the other."""

    def __init__(
        self, stores: Mapping[str, ObjectStore], task: CopyTask, begun: Callable[[str], None]
    ) -> None:
        self._stores = stores
        self._task = task
        self._begun = begun
        self._sent = False
        self._troubles: list[Trouble] = []

    def run(self) -> Made:
        return Made(self._task, self._copy(), tuple(self._troubles))

    def _copy(self) -> StoredCopy | FailedCopy:
        reason = "no source"
        try:
            destination = self._store(self._task.destination)
            for backend, key in zip(self._task.sources, self._task.source_keys, strict=True):
                try:
                    return self._copy_from(backend, key, destination)
                except SourceFailed as failed:
                    reason = f"{backend}: {failed.detail}"
                    if failed.trouble is not None:
                        self._troubles.append(Trouble(backend, key, failed.trouble, failed.detail))
        except ReaperError as error:
            reason = describe(error)
        return FailedCopy(self._task.intent_id, reason, self._sent)

    def _copy_from(self, backend: str, key: str, destination: ObjectStore) -> StoredCopy:
        task = self._task
        try:
            source = self._store(backend)
        except ConfigError as error:
            raise SourceFailed(None, describe(error)) from error
        sha256 = task.content_hash.lower() if task.sha256 else None
        expected = Expected(task.size_bytes, sha256, task.is_own(key))
        copying = Copying(source, key, destination, task.object_key, expected, task.verify, self._begun)
        try:
            copied = copying.run()
        finally:
            self._sent = self._sent or copying.sent
        return StoredCopy(task.intent_id, backend, copied.size, copied.sha256, copied.verified)

    def _store(self, backend: str) -> ObjectStore:
        store = self._stores.get(backend)
        if store is None:
            raise ConfigError(f"backend {backend} is not configured here", "Add it to reaper.toml.")
        return store
