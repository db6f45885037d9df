"""The ward: a world full of unfinished work, where processes die and somebody heals what they leave."""

import hashlib
import itertools
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Self

import psycopg
import structlog

from reaper import entry
from reaper.app import App
from reaper.model import Paste
from reaper.service import Tools
from reaper.services import ALL, breaker_watchdog, drain, pending_reaper, unreferenced, watchdog
from tests.crashes import jobs
from tests.crashes.jobs import BACKENDS, SAID_NO, Errand, Passage
from tests.doom import Doom
from tests.drain.world import DEADLINE, World, ended, forks, preload
from tests.judge import Log, complaints
from tests.races.folder import Folder

preload(jobs)

DAY = timedelta(days=1)
# The longest of all leases is over then, and what was put off is due.
LONG = "16 minutes"
# What a dropped intent may have uploaded is deleted in the second and in the third.
ROUNDS = 3
# Longer than one case takes, and not much longer.
LIFE = "3 hours"
HEALERS = (breaker_watchdog, watchdog, pending_reaper, drain)

NOTES = """
create table notes (note_id bigint generated always as identity primary key, written_at timestamptz not null);
create index on notes (written_at);
grant select, delete, update (written_at) on notes to reaper_owner;
select reaper.add_retention_policy('notes', 'notes', 'written_at', '30 days', 2);
select reaper.enable_policy('notes');
"""
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
BUSY = """
select 1 from pg_stat_activity
 where datname = current_database() and starts_with(application_name, 'reaper:') and state <> 'idle'
"""
HELD = """
select 1 from reaper.batches where split_part(worker, ':', 2) = %s
union all
select 1 from reaper.cleanup_queue where lease is not null
union all
select 1 from reaper.invalidations where lease is not null
"""
TABLES = (
    "pastes",
    "content",
    "reaper.batches",
    "reaper.put_intents",
    "reaper.cleanup_queue",
    "reaper.cleanup_dlq",
    "reaper.invalidations",
    "reaper.retired_keys",
    "reaper.object_locations",
    "(select name, bytes_used, orphan_bytes, reserved_bytes from reaper.backends)",
)
# Whoever failed too often does not come back by itself.
WELL = "select reaper.finish_run('drain', '{}', null)"
SICK = "select reaper.report_failure('cold', 'no answer') from generate_series(1, 5)"


@dataclass
class Ward(World):
    """One database for many deaths: after each it is healed and judged, and is ready for the next."""

    folder: Path = Path()
    log: Log = field(default_factory=Log)
    number: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Backends, a table to purge, and an empty cache."""
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        self.cache().flushall()
        for name in BACKENDS:
            (self.folder / name).mkdir()
            self.sql("select reaper.register_backend(%s)", name)
        self.sql(NOTES)
        self.sql("update reaper.settings set clock_may_move = true")
        for service in ALL:
            self.sql(REGISTER, service.name, service.schedule, service.description)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @cached_property
    def _connection(self) -> psycopg.Connection[Any]:
        return self._open.enter_context(psycopg.connect(self.dsn, autocommit=True))

    def hand(self) -> App:
        """An App in this process, on the folders."""
        app = self.app()
        app.__dict__["buckets"] = {name: self.shelf(name) for name in BACKENDS}
        return app

    @cached_property
    def medic(self) -> Tools:
        """Somebody who heals, with connections that stay open."""
        app = self._open.enter_context(self.hand())
        return Tools(app.lane(app.session("medic:0"), app.stop), app.settings.stuck_after)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def buckets(self) -> dict[str, dict[str, bytes]]:
        """All that lies on each backend."""
        return {name: self.shelf(name).contents() for name in BACKENDS}

    def shelf(self, name: str) -> Folder:
        return Folder(self.folder / name)

    def plant(self) -> Errand:
        """Something to do for every job, begun in all ways in which things can be left; and one errand."""
        self.number = number = next(self._numbers)
        self.sql(SICK)
        due = [self._make(code, data, "1 second") for code, data in self._due()]
        live = [self._make(f"live-{number}-{n}", b"%d of %d" % (n + 6, number), LIFE) for n in range(4)]
        self._make(f"unnamed-{number}", b"unnamed %d" % number, "1 hour")
        self.sql(UNNAMED, f"unnamed-{number}")
        self.log.ended(f"unnamed-{number}")
        self._leave_open(number)
        self._remember(*due, *live[:2])
        self.advance_clock("2 seconds")
        self.sql(DEAD)
        for statement in (RELEASED, OWED, ORPHANED, OLD_NOTES, WELL):
            self.sql(statement)
        self.advance_clock(LONG)
        return Errand("", self.variables, str(self.folder), code=f"paste-{number}", data=b"mine %d" % number)

    def _due(self) -> list[tuple[str, bytes]]:
        """Pastes that share some contents."""
        return [(f"due-{self.number}-{n}", b"%d of %d" % (n % 8, self.number)) for n in range(12)]

    def _leave_open(self, number: int) -> None:
        """Puts whose writers died before their upload and before their commit, also of an old application."""
        data = b"open %d" % number
        self._begin(f"open-{number}-a", data, LIFE)
        self._begin(f"open-{number}-b", data, LIFE, uploaded=False)
        self._begin(f"open-{number}-c", data, LIFE, content=f"by another name {number}")
        for letter in "abc":
            self.log.doubt(f"open-{number}-{letter}", data)

    def _begin(self, code: str, data: bytes, life: str, uploaded: bool = True, content: str = "") -> Any:
        content = content or hashlib.sha256(data).hexdigest()
        intent, backend, key, required = self.sql(BEGIN, code, content, len(data), life)[0]
        if uploaded and required:
            self.shelf(backend).put(key, data, len(data))
        return intent, uploaded and required

    def _make(self, code: str, data: bytes, life: str) -> Paste:
        """A paste, known to the log."""
        until = self.value("select reaper.clock() + %s::interval", life)
        self.sql(COMMIT, *self._begin(code, data, life))
        self.log.created(code, data, until)
        return Paste(code, data, hashlib.sha256(data).hexdigest(), until)

    def _remember(self, *pastes: Paste) -> None:
        """Put pastes into the cache."""
        with self.cache() as cache, cache.pipeline(transaction=False) as pipeline:
            for paste in pastes:
                pipeline.set(f"paste:{paste.short_code}", entry.encode(paste))
            pipeline.execute()

    def errand(self, job: str, *dooms: Doom, report: str | None = None) -> Errand:
        """Plant work for everybody, and what this job is about."""
        planted = self.plant()
        code, data = planted.code, planted.data
        if job == "put of known content":
            self._make(f"other-{code}", data, LIFE)
        if job.startswith(("get", "delete", "extend")):
            paste = self._make(code, data, LIFE)
            if job in ("get of cached", "delete"):
                self._remember(paste)
        return replace(planted, job=job, dooms=dooms, report=report)

    def herd(self, dooms: Sequence[Doom]) -> list[Errand]:
        """Drains side by side, each of which finds batches of its own."""
        planted = self.errand("drain")
        for n in range(6 * len(dooms)):
            self._make(f"more-{self.number}-{n}", b"%d more of %d" % (n, self.number), "1 second")
        self.advance_clock("2 seconds")
        variables = {**planted.variables, "REAPER_BATCH_SIZE": "2"}
        return [replace(planted, variables=variables, dooms=(doom,)) for doom in dooms]

    def rehearse(self, job: str) -> Passage:
        """Let a process do its job undisturbed, and learn which way it went."""
        report = self.folder / "passage.json"
        assert self.die(self.errand(job, report=str(report))) in (0, SAID_NO)
        self.heal()
        assert self.complaints(settled=True) == [], job
        return Passage(**json.loads(report.read_text()))

    def start(self, errand: Errand) -> ForkServerProcess:
        """Let a process begin; until it answers, nobody knows what became of its paste."""
        job = jobs.find(errand.job)
        if job.makes or job.ends:
            self.log.doubt(errand.code, errand.data)
        process = forks.Process(target=jobs.main, args=(errand,))
        process.start()
        return process

    def note(self, errand: Errand, began: datetime) -> None:
        """Write down what its caller knows, now that the process has answered."""
        job = jobs.find(errand.job)
        if job.makes:
            self.log.created(errand.code, errand.data, began + DAY)
        elif job.ends:
            self.log.ended(errand.code)

    def die(self, errand: Errand) -> int | None:
        """Let a process run its errand until it ends in some way; then all that it began is over."""
        began = self.now()
        exitcode = ended(self.start(errand))
        if exitcode == 0:
            self.note(errand, began)
        self.until_idle()
        return exitcode

    def now(self) -> datetime:
        now: datetime = self.value("select reaper.clock()")
        return now

    def until_idle(self) -> None:
        """Wait until PostgreSQL has done all that a process asked for."""
        deadline = time.monotonic() + DEADLINE
        while self.sql(BUSY):
            assert time.monotonic() < deadline, "PostgreSQL is still at it"
            time.sleep(0.001)

    def heal(self) -> None:
        """Time passes, leases run out, and those who put things right come again and again."""
        for _ in range(ROUNDS):
            self.advance_clock(LONG)
            self._forget_lock()
            for service in HEALERS:
                service.tick(self.medic)
        unreferenced.tick(self.medic)
        self.log.forget_the_dead(self.now())

    def _forget_lock(self) -> None:
        """The lock around the claim has run out by now."""
        with self.cache() as cache:
            cache.delete(self.medic.lane.lock.name)

    def create_again(self) -> None:
        """The same pastes, under the same codes, as if the ones before had never been."""
        self._remember(*(self._make(code, data, LIFE) for code, data in self._due()))

    def holds(self, pid: int | None) -> bool:
        """Whether a process has a batch, or a lease on what is owed."""
        return bool(self.sql(HELD, str(pid)))

    def refusals(self) -> int:
        return int(self.value("select refusals from reaper.health"))

    def fingerprint(self) -> Any:
        """All that a process could do harm to."""
        return [self.sql(f"select x from {table} as x order by x::text") for table in TABLES], self.buckets()

    def complaints(self, settled: bool = False) -> list[str]:
        """All that is wrong."""
        return complaints(self, self.log, settled)
