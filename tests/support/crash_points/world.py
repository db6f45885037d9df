"""A world in which processes die in the middle of their work, and somebody heals what they leave."""

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from multiprocessing.context import ForkServerProcess
from typing import Any, Self

from reaper.app import App
from reaper.errors import ReaperError
from reaper.services import (
    breaker_watchdog,
    cleanup_queue,
    drain,
    notifications,
    over_replication,
    pending_reaper,
    reconciler,
    replicator,
    unreferenced,
    watchdog,
)
from reaper.services.base import Context
from reaper.storage.owner_marker import OWNER_KEY, Owner
from tests.support.captured_logs import silence_logs
from tests.support.crash_points import jobs
from tests.support.crash_points.jobs import DAY, SAID_NO, Errand, Passage
from tests.support.crash_points.unfinished_work import LONG, UnfinishedWork
from tests.support.forked_processes import ended, preload
from tests.support.service_ticks import context
from tests.support.waiting import wait_until

preload(jobs)

# What a dropped intent may have uploaded is deleted in the second and in the third.
ROUNDS = 3
HEALERS = (breaker_watchdog, watchdog, pending_reaper, replicator, over_replication, drain, notifications)

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
union all
select 1 from reaper.copy_intents
union all
select 1 from reaper.notification_outbox o join reaper.webhooks w using (webhook_id)
 where o.lease is not null and w.name = 'told'
"""
DELIVERED = "select event_id from reaper.notification_outbox where delivered_at is not null"
WAITING = """
select o.event_id from reaper.notification_outbox o join reaper.webhooks w using (webhook_id)
 where o.delivered_at is null and w.name = 'told'
"""
# What an operator left who was killed: a backend that no worker has.
SPARE = """
select reaper.set_backend_state(name, 'draining', 'for a test'), reaper.remove_backend(name, 'for a test')
  from reaper.backend_list where starts_with(name, 'spare-')
"""
# What a store said falsely, twice, of an only copy.
CALLED_BAD = """
select l.content_hash, l.backend, l.object_key from reaper.object_locations l
 where l.trouble is not null
   and not exists (select from reaper.object_locations o
                    where o.content_hash = l.content_hash and o.trouble is null)
"""
LOOKED_AT = "select reaper.report_copy(%s, %s, %s, null, 'looked at again')"
IDENTITY = """
select installation_id::text, database, system_identifier::text from reaper.installation_identity()
"""
TABLES = (
    "pastes",
    "content",
    "reaper.batches",
    "reaper.put_intents",
    "reaper.copy_intents",
    "reaper.copy_wants",
    "reaper.cleanup_queue",
    "reaper.cleanup_dlq",
    "reaper.invalidations",
    "reaper.retired_keys",
    "reaper.object_locations",
    "(select name, bytes_used, orphan_bytes, reserved_bytes from reaper.backends)",
)


@dataclass
class CrashWorld(UnfinishedWork):
    """One database for many deaths: after each it is healed and judged, and is ready for the next."""

    def __enter__(self) -> Self:
        silence_logs()
        return super().__enter__()

    @cached_property
    def medic(self) -> Context:
        """Somebody who heals, with connections that stay open, under names of their own."""
        return context(self.healer, "medic:0")

    @cached_property
    def healer(self) -> App:
        """Whose connections the medic uses."""
        return self._open.enter_context(self.app(parts={"settle_slot": "medic:1"}))

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
        if job.makes:
            self.log.doubt(errand.code, errand.data, self.now() + 2 * DAY)
        elif job.ends:
            self.log.doubt(errand.code)
        return self.fork(jobs.main, errand)

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

    def until_idle(self) -> None:
        """Wait until PostgreSQL has done all that a process asked for."""
        self.until_none(BUSY)

    def until_none(self, query: str) -> None:
        """Wait until a query finds nothing any more."""
        wait_until(lambda: not self.sql(query), f"nothing is found by {query}", pause=0.001)

    def heal(self) -> None:
        """Time passes, leases run out, and those who put things right come again and again."""
        self.want_one_copy()
        self.sql(SPARE)
        for _ in range(ROUNDS):
            self.advance_clock(LONG)
            self._forget_lock()
            self._own_buckets()
            for service in HEALERS:
                service.tick(self.medic)
        unreferenced.tick(self.medic)
        self._compare()
        self.log.forget_the_dead(self.now())

    def complaints(self, settled: bool = False) -> list[str]:
        """Also: every event that counts as delivered was sent, and in the end none waits."""
        sent = self.wiring.webhooks().sent
        self._look_again()
        claimed = {str(row[0]) for row in self.sql(DELIVERED)}
        lost = [f"event {event} counts as delivered and was never sent" for event in claimed - sent]
        waiting = [f"event {row[0]} was not sent" for row in self.sql(WAITING)] if settled else []
        return [*super().complaints(settled), *lost, *waiting]

    def _compare(self) -> None:
        """Let the reconciler end what it had begun: what no row names is deleted."""
        if not self.sql("select 1 from reaper.sightings"):
            return
        self.sql("select reaper.set_untracked('default', 'delete', 'for a test')")
        # A pass that is open ends before others begin; the circuit of the other backend may be open.
        for _ in range(2):
            with suppress(ReaperError):
                reconciler.tick(self.medic)
        wait_until(self._is_swept, "what no row names is deleted", pause=0.001)

    def _is_swept(self) -> bool:
        """Whether all of it is queued and deleted, which has to wait for open transactions."""
        cleanup_queue.tick(self.medic)
        return not self.sql("select 1 from reaper.sightings where retired_at is not null")

    def _look_again(self) -> None:
        """An operator looks at the only copy that is called bad, and finds it where it is."""
        for content, backend, key in self.sql(CALLED_BAD):
            if {key} <= self.keys(backend):
                self.sql(LOOKED_AT, content, backend, key)

    def _own_buckets(self) -> None:
        """Who gave a take-over up half-way begins it again."""
        [(installation, database, system)] = self.sql(IDENTITY)
        for bucket in self.backends.values():
            bucket.store(OWNER_KEY, Owner(installation, database, system).encode())

    def _forget_lock(self) -> None:
        """The lock around the claim has run out by now."""
        with self.cache() as cache:
            cache.delete(self.healer.claim_lock.name)

    def holds(self, pid: int | None) -> bool:
        """Whether a process has a batch, or a lease on what is owed."""
        return bool(self.sql(HELD, str(pid)))

    def refusals(self) -> int:
        return int(self.value("select refusals from reaper.health"))

    def fingerprint(self) -> Any:
        """All that a process could do harm to."""
        return [self.sql(f"select x from {table} as x order by x::text") for table in TABLES], self.buckets()
