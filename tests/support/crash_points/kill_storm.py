"""A backlog drains in the hands of workers that are killed, and its contents are created anew."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from multiprocessing.connection import Connection
from random import Random

from reaper.cache.none import NoPasteCache
from reaper.errors import ContentLost
from reaper.services import watchdog
from reaper.store.store import Store
from tests.support.crash_points import kill_storm_process
from tests.support.crash_points.kill_storm_process import LONG, MOMENT
from tests.support.crash_points.world import CrashWorld
from tests.support.forked_processes import forks, preload
from tests.support.races.world import beside
from tests.support.service_ticks import context
from tests.support.waiting import PATIENCE
from tests.support.wiring import Wiring

preload(kill_storm_process)

PASTES_EACH = 5
BATCH = "48"
CONTENT = """
insert into content (content_hash, object_key, size_bytes, ref_count)
select h, reaper_internal.fresh_key(h), size, %s
  from unnest(%s::text[], %s::bigint[]) as c (h, size)
returning content_hash, object_key
"""
PASTES = """
insert into pastes (short_code, content_hash, expires_at)
select format('%%s-%%s', left(h, 16), n), h, reaper.clock() - interval '1 day' * (1 + random())
  from unnest(%s::text[]) as h
 cross join generate_series(1, %s) as n
"""
# What is created anew is due later than this.
BACKLOG = "select exists (select from pastes where expires_at < reaper.clock() - interval '1 hour')"
AT_WORK = """
select 1 from pg_stat_activity
 where datname = current_database()
   and application_name in ('reaper:drain:0', 'reaper:settle:0', 'reaper:store:0')
"""
# Not so long ago that the watchdog forgets who they were: PostgreSQL may still be at their last claim.
SILENT = """
update reaper.workers set beat_at = reaper.clock() - interval '1 hour'
 where split_part(worker, ':', 2) = any (%s)
"""


@dataclass
class KillStorm:
    """One backlog, from its first row to its last."""

    world: CrashWorld
    chance: Random
    contents: list[bytes]
    kills: int = 0
    created: int = 0
    known: list[str] = field(default_factory=list)
    began: datetime = field(init=False)

    def rage(self) -> None:
        """Load the backlog, and kill until nothing is left of it."""
        self._load()
        self.began = self.world.now()
        with self._created_anew(), self._watched():
            self._kill_until_drained()
        # PostgreSQL may still be at what the last of the dead asked for.
        self.world.until_none(AT_WORK)

    def _load(self) -> None:
        data = {sha256(content).hexdigest(): content for content in self.contents}
        bucket = self.world.backends["default"]
        for name, key in self.world.sql(CONTENT, PASTES_EACH, list(data), [len(d) for d in data.values()]):
            bucket.store(key, data[name])
        self.world.sql(PASTES, list(data), PASTES_EACH)

    def _kill_until_drained(self) -> None:
        """The loop kills; here it is said who was killed, instead of waiting until that is noticed."""
        here, there = forks.Pipe()
        variables = {n: v for n, v in self.world.variables.items() if n != "REAPER_REDIS_URL"}
        wiring = Wiring({**variables, "REAPER_BATCH_SIZE": BATCH}, self.world.wiring.folders)
        seed = self.chance.randrange(1 << 30)
        process = self.world.fork(kill_storm_process.main, wiring, self.contents, seed, there)
        # Only the loop has this end now: if it fails, that is noticed.
        there.close()
        try:
            while self.world.value(BACKLOG):
                self._bury(here, 0.1)
            here.send("enough")
            while not self._bury(here, 0.1):
                pass
        finally:
            here.close()
            process.join(PATIENCE)
        assert process.exitcode == 0, f"the loop ended with {process.exitcode}"

    def _bury(self, loop: Connection, patience: float) -> bool:
        """Make the heartbeats old of those who were killed by now; whether there will be no more."""
        until = time.monotonic() + patience
        dead: list[int] = []
        last = False
        while not last and loop.poll(max(0.0, until - time.monotonic())):
            killed, last = loop.recv()
            dead += killed
        if dead:
            self.kills += len(dead)
            self.world.sql(SILENT, [str(pid) for pid in dead])
        return last

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """A watchdog that looks all the time."""
        over = threading.Event()

        def watch() -> None:
            with self.world.app() as app:
                looking = context(app, "watchdog:0")
                while not over.wait(0.1):
                    watchdog.tick(looking)

        with beside(watch, over):
            yield

    @contextmanager
    def _created_anew(self) -> Iterator[None]:
        """Somebody who creates the same contents, for long or for a moment, and reads what must live."""
        over = threading.Event()

        def create() -> None:
            with self.world.app(parts={"paste_cache": NoPasteCache()}) as app:
                store = app.store()
                while not over.wait(0.01):
                    self._create(store, self.chance.choice(self.contents))
                    self._read(store)

        with beside(create, over):
            yield

    def _create(self, store: Store, data: bytes) -> None:
        life = self.chance.choice([LONG, MOMENT])
        stored = store.put(data, life)
        self.world.log.created(stored.short_code, data, stored.expires_at)
        self.created += 1
        if life == LONG:
            self.known.append(stored.short_code)

    def _read(self, store: Store) -> None:
        """One that must live was created since the storm began."""
        if self.known:
            code = self.chance.choice(self.known)
            try:
                paste = store.get(code)
            except ContentLost as lost:
                self.world.log.wrong.append(lost.message)
            else:
                self.world.log.read(code, paste and paste.data, self.began)
