"""Readers that pause between the steps of a read, while pastes expire, are deleted and are cut short."""

import itertools
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta

from reaper.app import App
from reaper.model import CacheRead
from reaper.ports import PasteCache
from reaper.store.store import Store
from tests.support.folder_store import FolderStore
from tests.support.watched_store import WatchedStore
from tests.support.world import World

READERS = 48
# How many of the newest pastes are read: those that live, and those that are over for a few seconds.
KNOWN = 150
LIVING = 20
PASTES_PER_SECOND = 25
ALLOWED = 1.0


@dataclass
class PausingCache:
    """A PasteCache around which readers pause: after they missed, and before they fill."""

    cache: PasteCache
    pause: Callable[[], None]
    seen: Counter[str] = field(default_factory=Counter)

    def read(self, code: str) -> CacheRead:
        found = self.cache.read(code)
        self.seen["misses" if found.data is None else "hits"] += 1
        if found.data is None:
            self.pause()
        return found

    def fill(self, code: str, data: bytes, ticket: int, remaining_ms: int | None) -> bool:
        self.pause()
        filled = self.cache.fill(code, data, ticket, remaining_ms)
        self.seen["fills" if filled else "fills refused"] += 1
        return filled

    def drop(self, code: str) -> bool:
        return self.cache.drop(code)


class PausedReaders:
    """Writers, readers and a drain on one database and one Redis; everybody's chances come from one seed."""

    def __init__(self, world: World, seed: int, broken: PasteCache | None = None) -> None:
        self._world = world
        self._seeds = itertools.count(seed)
        self._local = threading.local()
        # It is not what is tested, and the quickest there is.
        objects = FolderStore(world.folder / "objects")
        self._store = WatchedStore(objects, before_get=lambda _: self._pause())
        self._broken = broken
        self._known: deque[str] = deque(maxlen=KNOWN)
        self._ends: dict[str, float] = {}
        self._over = threading.Event()
        self._reads = itertools.count()
        self.seen: Counter[str] = Counter()
        # How late a read began that was served after the end of its paste.
        self.late: list[float] = []

    @property
    def violations(self) -> list[float]:
        """Reads that began more than a second after the end of their paste, and were served."""
        return [late for late in self.late if late > ALLOWED]

    @property
    def figures(self) -> str:
        """What happened, in one line."""
        seen = ", ".join(f"{count:,} {what}" for what, count in sorted(self.seen.items()))
        return (
            f"{seen}, {len(self.late)} served after the end, the latest by {max(self.late, default=0):.3f} s"
        )

    def run(self, reads: int, until: Callable[["PausedReaders"], bool] = lambda _: False) -> None:
        """Read so often, or until the condition holds."""
        with self._app() as app, ThreadPoolExecutor(READERS + 2) as pool:
            cache = PausingCache(self._broken or app.paste_cache, self._pause, self.seen)
            store = app.store()
            readers = Store(replace(store.pastes, cache=cache))
            helpers = [pool.submit(self._write, store)]
            # A drain would put right what a broken cache leaves.
            helpers += [] if self._broken else [pool.submit(self._drain)]
            try:
                reading = [pool.submit(self._read, readers, reads, until) for _ in range(READERS)]
                for done in reading:
                    done.result()
            finally:
                self._over.set()
            for done in helpers:
                done.result()

    def _app(self) -> App:
        broken = {} if self._broken is None else {"paste_cache": self._broken}
        return self._world.app(parts={"stores": {"default": self._store}, **broken})

    def _chance(self) -> random.Random:
        if not hasattr(self._local, "chance"):
            self._local.chance = random.Random(next(self._seeds))
        return self._local.chance  # type: ignore[no-any-return]

    def _pause(self) -> None:
        """Mostly none, now and then a short one, rarely one that is longer than the paste has to live."""
        chance = self._chance().random()
        if chance < 0.05:
            time.sleep(self._chance().uniform(1.0, 3.0))
        elif chance < 0.25:
            time.sleep(self._chance().uniform(0.0, 0.3))

    def _write(self, store: Store) -> None:
        """Pastes that expire soon, and pastes that would live long and are deleted or cut short."""
        going: deque[tuple[float, str]] = deque()
        while not self._over.is_set():
            chance = self._chance()
            short = chance.random() < 0.5
            life = timedelta(milliseconds=chance.randint(100, 2000)) if short else timedelta(hours=1)
            stored = store.put(b"%d" % chance.getrandbits(64), life)
            if short and stored.expires_at:
                self._ends[stored.short_code] = stored.expires_at.timestamp()
            else:
                going.append((time.time() + chance.uniform(0.05, 1.5), stored.short_code))
            self._known.append(stored.short_code)
            self.seen["pastes"] += 1
            while going and going[0][0] < time.time():
                self._end(store, going.popleft()[1])
            time.sleep(1 / PASTES_PER_SECOND)

    def _end(self, store: Store, code: str) -> None:
        if self._chance().random() < 0.7:
            store.delete(code)
            self._ends[code] = time.time()
            self.seen["deleted"] += 1
        else:
            store.extend(code, timedelta(milliseconds=200))
            self._ends[code] = time.time() + 0.2
            self.seen["cut short"] += 1

    def _drain(self) -> None:
        while not self._over.wait(2):
            with self._app() as app:
                app.drain()
                self.seen["drained"] += app.telemetry.totals.rows_deleted

    def _pick(self) -> str:
        """Mostly a paste that is likely to live, else one that is likely to be over."""
        while not self._known:
            time.sleep(0.01)
        known = list(self._known)
        return self._chance().choice(known[-LIVING:] if self._chance().random() < 0.7 else known)

    def _read(self, store: Store, reads: int, until: Callable[["PausedReaders"], bool]) -> None:
        while next(self._reads) < reads and not until(self):
            code = self._pick()
            began = time.time()
            served = store.get(code) is not None
            self.seen["reads"] += 1
            self.seen["served"] += served
            end = self._ends.get(code)
            if served and end is not None and began > end:
                self.late.append(began - end)
