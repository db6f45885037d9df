"""Unfinished work of every kind, so that each job of each service finds something to do."""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

import psycopg

from reaper.app import App
from reaper.model import Paste
from reaper.services import ALL, replicator
from reaper.store import cache_entry
from tests.support.crash_points.jobs import Errand
from tests.support.folder_store import FolderStore
from tests.support.process_faults import ProcessFault
from tests.support.service_ticks import context
from tests.support.world import World

# The longest of all leases is over then, and what was put off is due.
LONG = "16 minutes"
# Longer than one case takes, and not much longer.
LIFE = timedelta(hours=3)
SECOND = timedelta(seconds=1)

NOTES = """
create table notes (note_id bigint generated always as identity primary key, written_at timestamptz not null);
create index on notes (written_at);
grant select, delete, update (written_at) on notes to reaper_owner;
select reaper.add_retention_policy('notes', 'notes', 'written_at', '30 days', 2);
select reaper.enable_policy('notes');
"""
HOOKS = """
select reaper.add_webhook(name, 'https://' || name || '.example.com/', '{webhook.test,circuit.*}')
  from unnest('{told,held}'::text[]) as name
"""
TOLD = """
select reaper_internal.emit('webhook.test', null, '{}') from generate_series(1, 3)
"""
RULE = """
create index on pastes (created_at, short_code);
-- The scrubber reads all copies, whenever it runs.
update reaper.settings set scrub_every = '0';
select reaper.add_lifecycle_rule('aged', 'aged-', p_expiration_days => 30, p_enabled => true);
"""
AGE = "update pastes set created_at = created_at - interval '31 days' where short_code = %s"
OLD_NOTES = (
    "insert into notes (written_at) select reaper.clock() - interval '31 days' from generate_series(1, 3)"
)
REGISTER = "select reaper.register_service(%s, %s, %s, true)"
BEGIN = """
select intent_id, backend, object_key, upload_required
  from reaper.begin_put(%s, %s, %s, reaper.clock() + %s::interval)
"""
COMMIT = "select from reaper.commit_put(%s, %s)"
# A worker that died long ago: with a batch that it only claimed, and one that it had released.
DEAD = """
select reaper.heartbeat('dead');
select reaper.claim_expired(2, 'dead');
select reaper.drop_references(batch_id) from reaper.claim_expired(2, 'dead');
"""
# Nobody could do anything outside PostgreSQL: objects and entries are owed.
OWED = "select reaper.finish_batch(batch_id) from reaper.batches where state = 'RELEASED' and worker = 'idle'"
RELEASED = "select reaper.drop_references(batch_id) from reaper.claim_expired(2, 'idle')"
ORPHANED = "call reaper.drain(2, 1)"
# As an application leaves content whose pastes it deletes by itself.
UNNAMED = """
with gone as (delete from pastes where short_code = %s returning content_hash)
update content c set ref_count = ref_count - 1, created_at = reaper.clock() - interval '8 days'
  from gone where c.content_hash = gone.content_hash
"""
# Whoever failed too often does not come back by itself.
WELL = "select reaper.finish_run('drain', '{}', null)"
SICK = "select reaper.record_backend_failure('cold', 'no answer') from generate_series(1, 5)"


ONE_COPY = """
update reaper.settings set replication_factor = 1, rebalance_strategy = 'spread', rebalance_threshold = 0.1;
update reaper.backend_list set state = 'active', quota = null;
"""
# Two copies of everything, and nobody has made the second yet.
TWO_COPIES = "update reaper.settings set replication_factor = 2"
# So little room that what lies on one backend is too much for it.
UNEVEN = """
update reaper.settings set rebalance_threshold = 0.01;
update reaper.backend_list set quota = 1000000;
"""
COPYING = ("replicator", "rebalancer", "over_replication")
COPIED = (
    "pending_reaper of copies",
    "get of copied that misses a copy",
    "scrubber that reads other bytes",
    "reconciler that misses copies",
)
# An object that no row names, seen three days ago and again a day ago.
SEEN = """
insert into reaper.sightings
select 'default', %s, %s, reaper.clock() - interval '3 days', reaper.clock() - interval '1 day', null, null
"""


@dataclass
class UnfinishedWork(World):
    """A world with one connection for all that a test asks, and a log of what was created."""

    number: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Backends, a table to purge, and an empty cache."""
        super().__enter__()
        for name in self.backends:
            self.sql("select reaper.register_backend(%s)", name)
        self.sql(NOTES)
        self.sql(RULE)
        self.sql("update reaper.settings set clock_may_move = true")
        for service in ALL:
            self.sql(REGISTER, service.name, service.schedule, service.description)
        self.sql(HOOKS)
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._open.close()

    @cached_property
    def _connection(self) -> psycopg.Connection[Any]:
        return self._open.enter_context(psycopg.connect(self.dsn, autocommit=True))

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def plant(self) -> Errand:
        """Something to do for every job, begun in all ways in which things can be left; and one errand."""
        self.number = number = next(self._numbers)
        self.sql(SICK)
        due = [self._make(code, data, SECOND) for code, data in self._due()]
        live = [self._make(f"live-{number}-{n}", b"%d of %d" % (n + 6, number), LIFE) for n in range(4)]
        self._make(f"unnamed-{number}", b"unnamed %d" % number, LIFE)
        self.sql(UNNAMED, f"unnamed-{number}")
        self.log.ended(f"unnamed-{number}")
        self._leave_aged(f"aged-{number}")
        self._leave_upload(f"upload-{number}")
        self._leave_open(number)
        self._remember(*due, *live[:2])
        self.advance_clock("2 seconds")
        self.sql(DEAD)
        for statement in (RELEASED, OWED, ORPHANED, OLD_NOTES, WELL, TOLD):
            self.sql(statement)
        self.advance_clock(LONG)
        return Errand("", self.wiring, code=f"paste-{number}", data=b"mine %d" % number)

    def _due(self) -> list[tuple[str, bytes]]:
        """Pastes that share some contents."""
        return [(f"due-{self.number}-{n}", b"%d of %d" % (n % 8, self.number)) for n in range(12)]

    def _leave_aged(self, code: str) -> None:
        """A paste that a lifecycle rule makes due, whenever it is applied."""
        self._remember(self._make(code, b"content of %b" % code.encode(), LIFE))
        self.sql(AGE, code)
        self.log.doubt(code)

    def _leave_upload(self, key: str) -> None:
        """An upload in parts that nobody ends, older than the clock of any case."""
        bucket = self.backends["default"]
        assert isinstance(bucket, FolderStore)
        bucket.leave_upload(key, b"a part", timedelta(days=30).total_seconds())

    def _leave_open(self, number: int) -> None:
        """Puts whose writers died before their upload and before their commit, also of an old application."""
        data = b"open %d" % number
        self._begin(f"open-{number}-a", data, LIFE)
        self._begin(f"open-{number}-b", data, LIFE, uploaded=False)
        self._begin(f"open-{number}-c", data, LIFE, content=f"by another name {number}")
        for letter in "abc":
            self.log.doubt(f"open-{number}-{letter}", data, self.now() + LIFE)

    def _begin(
        self, code: str, data: bytes, life: timedelta, uploaded: bool = True, content: str = ""
    ) -> Any:
        content = content or hashlib.sha256(data).hexdigest()
        intent, backend, key, required = self.sql(BEGIN, code, content, len(data), life)[0]
        if uploaded and required:
            self.backends[backend].store(key, data)
        return intent, uploaded and required

    def _make(self, code: str, data: bytes, life: timedelta) -> Paste:
        """A paste, known to the log."""
        until = self.now() + life
        self.sql(COMMIT, *self._begin(code, data, life))
        self.log.created(code, data, until)
        return Paste(code, data, hashlib.sha256(data).hexdigest(), until)

    def _remember(self, *pastes: Paste) -> None:
        """Put pastes into the cache."""
        with self.cache() as cache, cache.pipeline(transaction=False) as pipeline:
            for paste in pastes:
                pipeline.set(f"paste:{paste.short_code}", cache_entry.encode(paste))
            pipeline.execute()

    def errand(self, job: str, *faults: ProcessFault, report: str | None = None) -> Errand:
        """Plant work for everybody, and what this job is about."""
        planted = self.plant()
        code, data = planted.code, planted.data
        if job == "put of known content":
            self._make(f"other-{code}", data, LIFE)
        if job.startswith(("get", "delete", "extend")):
            paste = self._make(code, data, LIFE)
            if job in ("get of cached", "delete"):
                self._remember(paste)
        if job.startswith(COPYING) or job in COPIED:
            self._want_copies(job, code)
        if job.startswith("reconciler that"):
            self.sql("update reaper.reconciliations set phase = 'idle'")
        if job in ("reconciler that deletes", "reconciler that imports"):
            self._leave_untracked(job.removeprefix("reconciler that ").removesuffix("s"))
        return replace(planted, job=job, faults=faults, report=report)

    def _leave_untracked(self, action: str) -> None:
        """Two objects that no row names, one named by its hash, and what is to happen to them."""
        data = b"untracked %d" % self.number
        digest = hashlib.sha256(data).hexdigest()
        for key in (digest, f"foreign {self.number}"):
            self.backends["default"].store(key, data)
            self.sql(SEEN, key, len(data))
        self.sql("select reaper.set_untracked('default', %s, 'for a test')", action)

    def want_one_copy(self) -> None:
        """As it is when nothing is said of copies."""
        self.sql(ONE_COPY)
        for bucket in self.backends.values():
            assert isinstance(bucket, FolderStore)
            bucket.copy_by_itself(False)

    def _want_copies(self, job: str, code: str) -> None:
        """What this job is to find, on backends that answer."""
        self.sql("select reaper.record_backend_success('cold')")
        large = bytes(5000) + b"%d" % self.number
        self._make(f"large-{code}", large, LIFE)
        if job == "rebalancer":
            self.sql(UNEVEN)
            return
        self.sql(TWO_COPIES)
        if job == "replicator on one server":
            for bucket in self.backends.values():
                assert isinstance(bucket, FolderStore)
                bucket.copy_by_itself()
        elif job == "replicator that drains":
            self.sql("update reaper.settings set replication_factor = 1")
            self.sql("select reaper.set_backend_state('default', 'draining', 'for a test')")
        elif job == "pending_reaper of copies":
            self.sql("select reaper.sweep_copies(100)")
            self.sql("select reaper.claim_copies(3)")
            self.advance_clock(LONG)
        elif not job.startswith("replicator"):
            replicator.tick(context(self.copier, "copier:0"))
        if job.startswith("over_replication"):
            self.sql("update reaper.settings set replication_factor = 1")
            self.sql("select reaper.sweep_copies(10000)")

    @cached_property
    def copier(self) -> App:
        """Who makes copies before a job begins."""
        return self._open.enter_context(self.app())

    def create_again(self) -> None:
        """The same pastes, under the same codes, as if the ones before had never been."""
        self._remember(*(self._make(code, data, LIFE) for code, data in self._due()))

    def herd(self, sleepers: Sequence[tuple[str, ProcessFault]]) -> list[Errand]:
        """Drains side by side, of whatever kind, each of which finds batches of its own."""
        planted = self.errand("drain")
        for n in range(6 * len(sleepers)):
            self._make(f"more-{self.number}-{n}", b"%d more of %d" % (n, self.number), SECOND)
        self.advance_clock("2 seconds")
        wiring = replace(planted.wiring, variables={**planted.wiring.variables, "REAPER_BATCH_SIZE": "2"})
        return [replace(planted, job=job, wiring=wiring, faults=(fault,)) for job, fault in sleepers]
