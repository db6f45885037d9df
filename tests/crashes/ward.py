"""The ward: a world full of unfinished work, where processes die and somebody heals what they leave."""

import hashlib
import itertools
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Self

import psycopg

from reaper import entry
from reaper.adapters.redis_lock import NAMES
from reaper.model import Paste
from reaper.service import Tools
from reaper.services import ALL
from tests.crashes import jobs
from tests.crashes.jobs import BACKENDS, JOBS, SAID_NO, Errand, Passage
from tests.doom import Doom
from tests.drain.world import DEADLINE, World, ended, forks, preload
from tests.judge import Log, complaints
from tests.races.folder import Folder

preload(jobs)

DAY = timedelta(days=1)
# The longest of all leases is over then, and what was put off is due.
LONG = "16 minutes"
ROUNDS = 4

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
select from pg_stat_activity
 where datname = current_database() and starts_with(application_name, 'reaper:') and state <> 'idle'
"""
SICK = "select reaper.report_failure('cold', 'no answer') from generate_series(1, 5)"


@dataclass
class Ward(World):
    """One database for many deaths: after each it is healed and judged, and is ready for the next."""

    folder: Path = Path()
    log: Log = field(default_factory=Log)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Backends, a table to purge, and an empty cache."""
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

    @cached_property
    def medic(self) -> Tools:
        """Somebody who heals, with connections that stay open."""
        app = self._open.enter_context(self.app())
        app.__dict__["buckets"] = {name: self._shelf(name) for name in BACKENDS}
        return Tools(app.lane(app.session("medic:0"), app.stop), app.settings.stuck_after)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def buckets(self) -> dict[str, dict[str, bytes]]:
        """All that lies on each backend."""
        return {name: self._shelf(name).contents() for name in BACKENDS}

    def _shelf(self, name: str) -> Folder:
        return Folder(self.folder / name)

    def plant(self) -> Errand:
        """Something to do for every job, begun in all ways in which things can be left; and one errand."""
        number = next(self._numbers)
        self.sql(SICK)
        due = [self._make(f"due-{number}-{n}", b"due %d" % (n % 8), "1 second") for n in range(12)]
        live = [self._make(f"live-{number}-{n}", b"due %d" % (n + 6), "1 day") for n in range(4)]
        self._make(f"unnamed-{number}", b"unnamed %d" % number, "1 hour")
        self.sql(UNNAMED, f"unnamed-{number}")
        self.log.ended(f"unnamed-{number}")
        self._leave_open(number)
        self._remember(*due, *live[:2])
        self.advance_clock("2 seconds")
        self.sql(DEAD)
        for statement in (RELEASED, OWED, ORPHANED, OLD_NOTES):
            self.sql(statement)
        self.advance_clock(LONG)
        return Errand("", self.variables, str(self.folder), code=f"paste-{number}", data=b"mine %d" % number)

    def _leave_open(self, number: int) -> None:
        """Puts whose writers died before their upload and before their commit, also of an old application."""
        data = b"open %d" % number
        self._begin(f"open-{number}-a", data, "1 day")
        self._begin(f"open-{number}-b", data, "1 day", uploaded=False)
        self._begin(f"open-{number}-c", data, "1 day", content=f"by another name {number}")
        for letter in "abc":
            self.log.doubt(f"open-{number}-{letter}", data)

    def _begin(self, code: str, data: bytes, life: str, uploaded: bool = True, content: str = "") -> Any:
        content = content or hashlib.sha256(data).hexdigest()
        intent, backend, key, required = self.sql(BEGIN, code, content, len(data), life)[0]
        if uploaded and required:
            self._shelf(backend).put(key, data, len(data))
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
            self._make(f"other-{code}", data, "1 day")
        if job.startswith(("get", "delete", "extend")):
            paste = self._make(code, data, "1 day")
            if job in ("get of cached", "delete"):
                self._remember(paste)
        return replace(planted, job=job, dooms=dooms, report=report)

    def rehearse(self, job: str) -> Passage:
        """Let a process do its job undisturbed, and learn which way it went."""
        report = self.folder / "passage.json"
        assert self.die(self.errand(job, report=str(report))) in (0, SAID_NO)
        self.heal()
        self.judge()
        return Passage(**json.loads(report.read_text()))

    def start(self, errand: Errand) -> ForkServerProcess:
        process = forks.Process(target=jobs.main, args=(errand,))
        process.start()
        return process

    def note(self, errand: Errand, exitcode: int | None, began: datetime) -> None:
        """Write down what its caller knows of the paste, now that the process is over."""
        job = JOBS.get(errand.job, jobs.STRAY)
        answered = exitcode == 0
        if job.makes and answered:
            self.log.created(errand.code, errand.data, began + DAY)
        elif job.makes or (job.ends and not answered):
            self.log.doubt(errand.code, errand.data)
        elif job.ends:
            self.log.ended(errand.code)

    def die(self, errand: Errand) -> int | None:
        """Let a process run its errand until it ends in some way; then all that it began is over."""
        began = self.now()
        exitcode = ended(self.start(errand))
        self.note(errand, exitcode, began)
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
        """Time passes, leases run out, and every service runs, again and again."""
        for _ in range(ROUNDS):
            self.advance_clock(LONG)
            self._forget_locks()
            for service in ALL:
                service.tick(self.medic)
        self.log.forget_the_dead(self.now())

    def _forget_locks(self) -> None:
        """A lock in Redis has run out by now."""
        with self.cache() as cache:
            for name in cache.keys(f"{NAMES}*"):
                cache.delete(name)

    def judge(self, settled: bool = True) -> None:
        found = complaints(self, self.log, settled)
        assert found == [], "\n".join(found)
