"""What a random program works on: a database, backends and a cache in memory, and a model of what must be so.

The clock stands still unless it is moved, and pauses have no chance in them: a program that is run twice does
the same twice.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row

from tests.support import judge
from tests.support.cloned_databases import EMPTY
from tests.support.paste_fixtures import Clock, Connection, value
from tests.support.programs.memory_backends import Backend, Cache, is_content

BACKENDS = ("default", "east")
# Nobody waits long for the one who holds rows; and there is no chance in when something is tried again.
STAGE = """
select format('alter function %s set lock_timeout = ''20ms''', p.oid::regprocedure)
  from pg_proc p
 where p.pronamespace = 'reaper'::regnamespace and p.proconfig::text like '%lock_timeout%'
"""
STEADY = """
create or replace function reaper_internal.retry_pause(p_attempts integer) returns interval
    language sql volatile
as $$ select least(interval '1 minute' * 3 ^ least(p_attempts - 1, 10), interval '24 hours') $$
"""
# Of a reap that looks again for rows that are held; the one who holds them does not let go meanwhile.
PAUSE = "pg_sleep(0.01 * 2 ^ v_futile * random())"
CLEAN = f"""
update reaper.settings
   set clock_offset = '0', circuit_failures = 2, intent_min_age = '15 minutes', replication_factor = 1;
update reaper.backend_list set quota = null, state = 'active';
{EMPTY}
delete from reaper.circuits;
delete from reaper.audit;
"""
READABLE = """
select short_code, content_hash, expires_at from public.pastes where expires_at > %s or expires_at is null
"""
# All else that is compared after each step, in one question.
LOOK = """
select array(select i.invariant || ': ' || i.subject || ', ' || i.detail
               from reaper.check_invariants() as i) as broken,
       array(select array[c.content_hash, coalesce(l.backend, 'default'),
                          coalesce(l.object_key, c.object_key, c.content_hash)]
               from public.content c left join reaper.object_locations l using (content_hash)) as copies,
       array(select array[backend, object_key] from reaper.put_intents
             union all select array[destination, object_key] from reaper.copy_intents
             union all select array[backend, object_key] from reaper.cleanup_queue
             union all select array[backend, object_key] from reaper.cleanup_dlq
             union all select array[o.backend, o.object_key] from reaper.batches b
              cross join unnest(b.object_backends, b.object_keys) as o (backend, object_key)) as named,
       array(select short_code from reaper.invalidations
             union all select unnest(short_codes) from reaper.batches where state = 'RELEASED') as owed,
       (select count(*) from reaper.put_intents) as intents,
       (select count(*) from reaper.cleanup_queue) as queued,
       (select count(*) from reaper.cleanup_dlq) as dead,
       (select count(*) from reaper.invalidations) as entries
"""


@dataclass(frozen=True)
class Paste:
    """What its creator knows: which content, and until when; None is for ever."""

    content_hash: str
    until: datetime | None


@dataclass
class Model:
    """The real thing and the model side by side."""

    db: Connection
    holder: Connection
    backends: dict[str, Backend] = field(default_factory=dict)
    cache: Cache = field(default_factory=Cache)
    pastes: dict[str, Paste] = field(default_factory=dict)
    # Bytes that somebody decided to leave where they are.
    written_off: set[tuple[str, str]] = field(default_factory=set)
    now: datetime = field(init=False)
    # Bytes whose sender is there, and will say that they came late if nobody wants them.
    in_hand: set[tuple[str, str]] = field(default_factory=set)
    # What waits, as it was seen after the last step.
    waiting: dict[str, int] = field(default_factory=dict)
    is_held: bool = False
    seen: Counter[str] = field(default_factory=Counter)

    def prepare(self) -> None:
        """Once for all programs."""
        for statement in [row[0] for row in self.db.execute(STAGE)]:
            self.db.execute(statement)
        self.db.execute(STEADY)
        held = value(self.db, "select pg_get_functiondef('reaper_internal.reap_held'::regproc)")
        assert held.count(PAUSE) == 1
        self.db.execute(held.replace(PAUSE, "pg_sleep(0)"))
        self.db.execute("set lock_timeout = '20ms'; set synchronous_commit = off")
        for backend in BACKENDS:
            self.db.execute("select reaper.register_backend(%s)", [backend])
        self.db.execute("update reaper.settings set clock_may_move = true")
        # The tables are the application's, whose readers look under the bare hash on default.
        self.db.execute("delete from reaper.provenance where kind = 'table'")
        Clock(self.db).stop()

    def begin(self) -> None:
        """Before each program all is empty."""
        self.let_go()
        self.db.execute(CLEAN)
        self.backends = {backend: Backend() for backend in BACKENDS}
        self.cache, self.pastes, self.written_off, self.in_hand, self.waiting = Cache(), {}, set(), set(), {}
        self.now = value(self.db, "select reaper.clock()")

    def tidy(self) -> None:
        """Between many programs: the rows of those before are only in the way."""
        self.db.execute("vacuum")

    def call(self, function: str, *arguments: Any) -> list[Any]:
        """The rows that a function returns."""
        places = ", ".join(["%s"] * len(arguments))
        with self.db.cursor(row_factory=namedtuple_row) as cursor:
            return cursor.execute(f"select * from reaper.{function}({places})", arguments).fetchall()

    @contextmanager
    def undone(self) -> Iterator[None]:
        """The session is killed before it commits."""
        with self.db.transaction(force_rollback=True):
            yield

    def advance(self, span: timedelta) -> None:
        """Let time pass."""
        self.db.execute("update reaper.settings set clock_offset = clock_offset + %s", [span])
        self.now += span

    def hold(self, statement: str, what: str) -> None:
        """Somebody else locks a row, and keeps it."""
        self.let_go()
        with suppress(psycopg.errors.LockNotAvailable):
            self.is_held = self.holder.execute(statement, [what]).rowcount > 0

    def let_go(self) -> None:
        """The somebody else ends."""
        self.holder.rollback()
        self.is_held = False

    def create(self, code: str, content_hash: str, until: datetime | None) -> None:
        """A paste was made, whether or not its maker was told."""
        self.pastes[code] = Paste(content_hash, until)
        self.seen["pastes"] += 1

    def living(self) -> dict[str, Paste]:
        """The pastes that must be readable now."""
        return {c: p for c, p in self.pastes.items() if p.until is None or p.until > self.now}

    def look(self) -> None:
        """Everything is as the model says, and as it must be at every instant."""
        with self.db.cursor(row_factory=namedtuple_row) as cursor:
            seen = cursor.execute(LOOK).fetchone()
        assert seen is not None
        assert seen.broken == []
        self.waiting = {what: getattr(seen, what) for what in ("intents", "queued", "dead", "entries")}
        self._compare_pastes()
        self._compare_objects({(c[1], c[2]): c[0] for c in seen.copies}, {(n[0], n[1]) for n in seen.named})
        self._compare_cache(set(seen.owed))

    def settle(self) -> None:
        """All faults end, everybody does their work for some days: nothing is left but what lives."""
        self.let_go()
        self.cache.is_away = False
        for each, backend in self.backends.items():
            backend.is_away, backend.refuses = False, {}
            self.call("record_backend_success", each)
            self.call("set_backend_state", each, "active", "a test")
            self.call("set_quota", each, None, "a test")
        for _ in range(3):
            self.advance(timedelta(days=2))
            self._work()
        self.look()
        complaints = judge.complaints(self, settled=True)
        assert [each for each in complaints if not self._is_written_off(each)] == []

    def _work(self) -> None:
        """One round of every service."""
        self.call("reset_stuck", "0")
        self.db.execute("call reaper.drain()")
        self.call("retry_dlq")
        self._see_to_copies()
        for row in self.call("claim_intents", 100):
            self.call("finish_intent", row.intent_id, row.lease, False)
        while batch := self.call("adopt_batch", "settler"):
            self._delete(batch[0].backends, batch[0].object_keys)
            self.cache.forget(batch[0].short_codes)
            self.call("finish_batch", batch[0].batch_id, "[]")
        while rows := self.call("claim_cleanup"):
            self._delete([row.backend for row in rows], [row.object_key for row in rows])
            self.call("finish_cleanup", rows[0].lease, "[]")
        while rows := self.call("claim_invalidations"):
            self.cache.forget([row.short_code for row in rows])
            self.call("finish_invalidations", rows[0].lease, "[]")

    def _see_to_copies(self) -> None:
        """One copy of each is enough; what is too many goes, and what was left open is ended."""
        self.db.execute("update reaper.settings set replication_factor = 1")
        self.call("drop_stale_copies", 1000)
        while not self.call("sweep_copies", 1000)[0].complete:
            pass
        while tasks := self.call("claim_copies", 100):
            for task in tasks:
                data = self.backends[task.sources[0]].objects[task.source_keys[0]]
                self.backends[task.destination].put(task.object_key, data)
                stored = (task.intent_id, task.lease, task.sources[0], len(data), None, True)
                self.call("commit_copy", *stored)
        while found := self.call("claim_excess", 100):
            for each in found:
                gone = (each.content_hash, each.remove_backend, each.remove_key)
                self.call("remove_copy", *gone, each.keep_backends, each.keep_keys)

    def _delete(self, backends: list[str], keys: list[str]) -> None:
        for backend, key in zip(backends, keys, strict=True):
            assert self.backends[backend].delete(key) is None

    def _is_written_off(self, complaint: str) -> bool:
        return any(f"{key} on {backend}" in complaint for backend, key in self.written_off)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, for the judge."""
        return self.db.execute(statement, values or None).fetchall()

    def buckets(self) -> dict[str, dict[str, bytes]]:
        """All that lies on each backend, for the judge."""
        return {name: backend.objects for name, backend in self.backends.items()}

    def cache_entries(self) -> dict[str, bytes]:
        """What the cache would serve, for the judge."""
        return {code: what.encode() for code, what in self.cache.visible(self.now).items()}

    def _compare_pastes(self) -> None:
        found = {code: Paste(what, until) for code, what, until in self.db.execute(READABLE, [self.now])}
        assert found == self.living(), "not the pastes that live"

    def _compare_objects(self, copies: dict[tuple[str, str], str], named: set[tuple[str, str]]) -> None:
        for (backend, key), what in copies.items():
            data = self.backends[backend].objects.get(key)
            assert data is not None, f"{what} has lost its object {key} on {backend}"
            assert is_content(what, data), f"{key} on {backend} holds other bytes"
        stored = {(backend, key) for backend in BACKENDS for key in self.backends[backend].objects}
        known = copies.keys() | named | self.written_off | self.in_hand
        assert stored - known == set(), "objects that nobody knows"

    def _compare_cache(self, owed: set[str]) -> None:
        living = self.living()
        for code, what in self.cache.visible(self.now).items():
            right = code in living and living[code].content_hash == what
            assert right or code in owed, f"the cache serves {code}, and nobody is going to drop it"
