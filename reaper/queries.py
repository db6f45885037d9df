"""One typed method per SQL function: the only place that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from reaper.db.connection import Connection, translated
from reaper.model import (
    Batch,
    Circuit,
    Claim,
    Collected,
    Committed,
    Copy,
    Cursor,
    Due,
    Failed,
    Figures,
    Intent,
    ObjectRef,
    Owed,
    PasteRow,
    PendingIntent,
    Rescued,
    Reset,
)

Failures = Sequence[dict[str, Any]]
# One round trip instead of two, and arrays, which are read quicker than rows, in binary quicker still. The
# codes come last: an aggregate is known when all is released.
RELEASE = """
select reaper.released_codes(%s), reaper.waits_for_standby(), o.*
  from (select coalesce(array_agg(d.content_hash), '{}'), coalesce(array_agg(d.backend), '{}'),
               coalesce(array_agg(d.object_key), '{}'), coalesce(array_agg(d.size_bytes), '{}')
          from reaper.drop_references(%s) as d) as o
"""
T = TypeVar("T")

# The first key of our advisory locks: nobody else's locks meet ours.
LOCK_CLASS = 1919246704


class Queries:
    """reaper's SQL functions on one connection; may be shared by threads, which then wait for each other."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim_expired(self, limit: int, worker: str, cursor: Cursor) -> Claim | None:
        """Mark the oldest due rows from the cursor on; None when there are none."""
        return self._one(
            Claim,
            "select batch_id, claimed, last_expires_at::text, last_short_code"
            "  from reaper.claim_expired(%s, %s, %s, %s)",
            limit,
            worker,
            cursor.expires_at,
            cursor.short_code,
        )

    def count_due(self) -> int:
        """How many rows are due and not claimed."""
        return int(self._value("select reaper.count_due()"))

    def drop_references(self, batch_id: UUID) -> Batch:
        """Release the rows and references of a batch; what is left to delete outside comes back."""
        codes, awaits_standby, *columns = self._all(RELEASE, batch_id, batch_id, binary=True)[0]
        return Batch(batch_id, tuple(codes), _objects(columns), awaits_standby)

    def finish_batch(self, batch_id: UUID, failures: Failures) -> Figures:
        """Settle a batch; what failed goes to the queues."""
        figures = self._one(
            Figures, "select * from reaper.finish_batch(%s, %s)", batch_id, Jsonb(list(failures))
        )
        return figures or Figures()

    def adopt_batch(self, worker: str) -> Batch | None:
        """Take over the oldest released batch that nobody holds."""
        row = self._first("select * from reaper.adopt_batch(%s)", worker)
        if row is None:
            return None
        batch_id, codes, *columns = row
        return Batch(batch_id, tuple(codes), _objects(columns))

    def await_standby(self, token: UUID, lsn: str | None) -> str | None:
        """None when what the token released may be deleted; else how far a standby has to get first."""
        lacking: str | None = self._value("select reaper.await_standby(%s, %s)::text", token, lsn)
        return lacking

    def collect_unreferenced(self, limit: int) -> Collected:
        """Let the next page's contents go that no paste names; their objects are in a batch to adopt."""
        return self._only(Collected, "select * from reaper.collect_unreferenced(%s)", limit)

    def give_back(self, batch_id: UUID) -> int:
        """End a claim without deleting anything."""
        return int(self._value("select reaper.give_back(%s)", batch_id))

    def leave_unknown(self, worker: str, known: Sequence[UUID]) -> int:
        """Let go of batches that we hold without knowing: the answer that named them was lost."""
        return int(self._value("select reaper.leave_unknown(%s, %s)", worker, list(known)))

    def returned_ownerless(self) -> bool:
        """Give back rows that a drop had to leave to somebody else; whether there were any."""
        return bool(self._value("select reaper.returned_ownerless()"))

    def ownerless_rows(self) -> int:
        """How many rows a drop had to leave to somebody else who still holds them."""
        return int(self._value("select reaper.ownerless_rows()"))

    def reset_stuck(self, older_than: timedelta) -> Reset:
        """Take back what dead workers hold."""
        reset = self._one(Reset, "select * from reaper.reset_stuck(%s)", older_than)
        return reset or Reset(0, 0, 0)

    def heartbeat(self, worker: str) -> None:
        """Say that this worker lives."""
        self._value("select reaper.heartbeat(%s)", worker)

    def retire_worker(self, worker: str) -> None:
        """Say that this worker has ended; what it still holds is free for others."""
        self._value("select reaper.retire_worker(%s)", worker)

    def now(self) -> datetime:
        """The time that everything is decided by."""
        now: datetime = self._value("select reaper.clock()")
        return now

    def claim_cleanup(
        self, limit: int, backend: str | None = None, due_before: datetime | None = None
    ) -> Owed | None:
        """Lease objects whose deletion is due for another try."""
        rows = self._all("select * from reaper.claim_cleanup(%s, %s, %s)", limit, backend, due_before)
        return Owed(rows[0][0], objects=tuple(ObjectRef(*row[1:]) for row in rows)) if rows else None

    def finish_cleanup(self, lease: UUID, failures: Failures) -> int:
        """Settle leased objects; returns how many are gone."""
        return int(self._value("select reaper.finish_cleanup(%s, %s)", lease, Jsonb(list(failures))))

    def claim_invalidations(self, limit: int) -> Owed | None:
        """Lease codes whose cache entry is due for another try."""
        rows = self._all("select * from reaper.claim_invalidations(%s)", limit)
        return Owed(rows[0][0], short_codes=tuple(row[1] for row in rows)) if rows else None

    def finish_invalidations(self, lease: UUID, failures: Failures) -> int:
        """Settle leased codes; returns how many are gone."""
        return int(self._value("select reaper.finish_invalidations(%s, %s)", lease, Jsonb(list(failures))))

    def begin_put(
        self, short_code: str, content_hash: str, size_bytes: int, expires_in: timedelta | None
    ) -> Intent:
        """Announce a paste that lives so long from now, by the database's clock; commit before uploading."""
        return self._only(
            Intent,
            "with life as materialized (select reaper.clock() + %s::interval as expires_at)"
            " select i.*, l.expires_at"
            "   from life l cross join lateral reaper.begin_put(%s, %s, %s, l.expires_at) as i",
            expires_in,
            short_code,
            content_hash,
            size_bytes,
        )

    def commit_put(self, intent_id: UUID, uploaded: bool) -> Committed:
        """Make the paste; `uploaded` when an upload to the intent's key was begun."""
        return self._only(Committed, "select * from reaper.commit_put(%s, %s)", intent_id, uploaded)

    def abort_put(self, intent_id: UUID, uploaded: bool = True) -> bool:
        """Give a put up; False when the intent is gone already."""
        return bool(self._value("select reaper.abort_put(%s, %s)", intent_id, uploaded))

    def owe_upload(self, intent: Intent, content_hash: str, size_bytes: int) -> bool:
        """Queue the bytes of an intent that is gone, unless somebody has them; whether that was needed."""
        return bool(
            self._value(
                "select reaper.owe_upload(%s, %s, %s, %s)",
                intent.backend,
                intent.object_key,
                content_hash,
                size_bytes,
            )
        )

    def get_paste(self, short_code: str) -> PasteRow | None:
        """Where to read a paste; None when it does not exist or has expired."""
        return self._one(
            PasteRow,
            "select p.*, case when isfinite(p.expires_at) then p.expires_at - reaper.clock() end as remaining"
            "  from reaper.get_paste(%s) as p",
            short_code,
        )

    def copies_of(self, content_hash: str) -> list[Copy]:
        """Everywhere that the content lies, backends that answer first."""
        return self._rows(Copy, "select * from reaper.copies_of(%s)", content_hash)

    def delete_paste(self, short_code: str) -> bool:
        """Make a paste unreadable; whether it was readable."""
        return bool(self._value("select reaper.delete_paste(%s)", short_code))

    def extend_paste(self, short_code: str, expires_in: timedelta | None) -> bool:
        """Let a paste live so long from now; False when its row is gone."""
        return bool(
            self._value(
                "select reaper.extend_paste(%s, reaper.clock() + %s::interval)", short_code, expires_in
            )
        )

    def claim_intents(self, limit: int) -> list[PendingIntent]:
        """Lease puts that were begun long ago and not settled, a fair share of each backend that answers."""
        return self._rows(PendingIntent, "select * from reaper.claim_intents(%s)", limit)

    def resolve_intent(self, intent: PendingIntent, found: bool, size: int | None, sha256: str | None) -> str:
        """Settle a leased intent by what lies under its key: 'committed', 'dropped' or 'gone'."""
        return str(
            self._value(
                "select reaper.resolve_intent(%s, %s, %s, %s, %s)",
                intent.intent_id,
                intent.lease,
                found,
                size,
                sha256,
            )
        )

    def defer_intent(self, intent: PendingIntent, error: str) -> bool:
        """Give a leased intent back, since its backend did not answer; False when its writer settled it."""
        return bool(
            self._value("select reaper.defer_intent(%s, %s, %s)", intent.intent_id, intent.lease, error)
        )

    def register_backend(self, name: str, quota: int | None) -> None:
        """Make a backend known; what a DBA changed stays."""
        self._value("select reaper.register_backend(%s, %s)", name, quota)

    def circuit_states(self) -> list[Circuit]:
        """The circuits of all backends that were ever in trouble."""
        return self._rows(Circuit, "select * from reaper.circuit_states()")

    def report_failure(self, backend: str, error: str) -> str:
        """Say that a backend did not answer; the state of its circuit after that."""
        return str(self._value("select reaper.report_failure(%s, %s)", backend, error))

    def report_success(self, backend: str) -> bool:
        """Say that a backend answered; whether that closed its circuit."""
        return bool(self._value("select reaper.report_success(%s)", backend))

    def begin_probe(self, backend: str) -> UUID | None:
        """The token for the one probe of a backend whose pause is over; None for all others."""
        token: UUID | None = self._value("select reaper.begin_probe(%s)", backend)
        return token

    def finish_probe(self, backend: str, probe: UUID, error: str | None) -> bool:
        """Say how a probe ended; False when it came too late to matter."""
        return bool(self._value("select reaper.finish_probe(%s, %s, %s)", backend, probe, error))

    def reset_stale_probes(self) -> int:
        """Open the circuits whose prober died; returns how many."""
        return int(self._value("select reaper.reset_stale_probes()"))

    def fold_accounts(self, limit: int) -> int:
        """Replace rows of the byte accounts by their sums; returns how many."""
        return int(self._value("select reaper.fold_accounts(%s)", limit))

    def register_service(self, name: str, schedule: str, description: str, enabled: bool) -> None:
        """Make a service known; what a DBA changed stays."""
        self._value("select reaper.register_service(%s, %s, %s, %s)", name, schedule, description, enabled)

    def due_services(self) -> list[Due]:
        """What a tick has to see to."""
        return self._rows(Due, "select * from reaper.due_services()")

    def dispatch(self, name: str, seen: datetime | None, upcoming: datetime) -> int:
        """Plan the next run and queue this one, unless another tick was first; returns how many jobs."""
        return int(self._value("select reaper.dispatch(%s, %s, %s)", name, seen, upcoming))

    def defer_job(self, task: str, lock: str, arguments: Mapping[str, Any]) -> bool:
        """Queue a job; False when one of that name waits already."""
        return bool(self._value("select reaper.defer_job(%s, %s, %s)", task, lock, Jsonb(dict(arguments))))

    def lock_service(self, name: str) -> bool:
        """Try to be the only one that runs the service, for as long as this connection lives."""
        taken = self._value("select pg_try_advisory_lock(%s, reaper.service_lock(%s))", LOCK_CLASS, name)
        return bool(taken)

    def unlock_service(self, name: str) -> None:
        """Let others run the service, from this moment on."""
        self._value("select pg_advisory_unlock(%s, reaper.service_lock(%s))", LOCK_CLASS, name)

    def is_runnable(self, name: str) -> bool:
        """Whether the service is switched on and not paused."""
        return bool(
            self._value(
                "select enabled and coalesce(paused_until <= reaper.clock(), true)"
                "  from reaper.schedule where name = %s",
                name,
            )
        )

    def failures_in_a_row(self, name: str) -> int:
        """How many runs of the service have failed since the last that did not."""
        return int(self._value("select consecutive_failures from reaper.schedule where name = %s", name) or 0)

    def begin_run(self, name: str, worker: str) -> None:
        """Record that a run begins."""
        self._value("select reaper.begin_run(%s, %s)", name, worker)

    def finish_run(self, name: str, result: Mapping[str, Any] | None, error: str | None = None) -> None:
        """Record how a run ended."""
        document = None if result is None else Jsonb(dict(result))
        self._value("select reaper.finish_run(%s, %s, %s)", name, document, error)

    def skip_run(self, name: str) -> None:
        """Count a run that another worker was at."""
        self._value("select reaper.skip_run(%s)", name)

    def rescue_jobs(self, limit: int) -> list[Rescued]:
        """Free the jobs of dead workers."""
        return self._rows(Rescued, "select * from reaper.rescue_jobs(p_limit => %s)", limit)

    def prune_jobs(self, limit: int) -> int:
        """Forget finished jobs; returns how many."""
        return int(self._value("select reaper.prune_jobs(p_limit => %s)", limit))

    def prune_history(self, limit: int) -> int:
        """Forget old figures and errors, up to `limit` of each kind; returns how many in all."""
        return int(self._value("select reaper.prune_history(p_limit => %s)", limit))

    def record_job_error(self, job_id: int, task: str, attempt: int, error: str) -> None:
        """Keep the text of a job's error."""
        self._value("select reaper.record_job_error(%s, %s, %s, %s)", job_id, task, attempt, error)

    def throttle(self) -> str | None:
        """Why the next batch should wait; None when it should not."""
        row = self._first("select reason from reaper.throttle() where wait")
        return str(row[0]) if row else None

    def note_throttle(self, worker: str, reason: str | None) -> None:
        """Show operators why this worker waits."""
        self._value("select reaper.note_throttle(%s, %s)", worker, reason)

    def policy_limit(self, policy: str) -> int | None:
        """How many rows one purge deletes at most; None for a policy that is gone."""
        limit = self._value("select reaper.policy_limit(%s)", policy)
        return None if limit is None else int(limit)

    def purge_aged(self, policy: str, limit: int) -> int:
        """Delete one batch of rows that are too old; returns how many."""
        return int(self._value("select reaper.purge_aged(%s, %s)", policy, limit))

    def _only(self, shape: type[T], statement: str, *values: Any) -> T:
        [row] = self._rows(shape, statement, *values)
        return row

    def _one(self, shape: type[T], statement: str, *values: Any) -> T | None:
        rows = self._rows(shape, statement, *values)
        return rows[0] if rows else None

    def _rows(self, shape: type[T], statement: str, *values: Any) -> list[T]:
        with translated(), self._connection.cursor(row_factory=class_row(shape)) as cursor:
            return cursor.execute(statement, values).fetchall()

    def _all(self, statement: str, *values: Any, binary: bool = False) -> list[tuple[Any, ...]]:
        with translated():
            return self._connection.execute(statement, values, binary=binary).fetchall()

    def _first(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        rows = self._all(statement, *values)
        return rows[0] if rows else None

    def _value(self, statement: str, *values: Any) -> Any:
        row = self._first(statement, *values)
        return row[0] if row else None


def _objects(columns: Sequence[Sequence[Any]]) -> tuple[ObjectRef, ...]:
    return tuple(map(ObjectRef._make, zip(*columns, strict=True)))


def object_failures(
    objects: Sequence[ObjectRef], failed: Mapping[tuple[str, str], Failed]
) -> list[dict[str, Any]]:
    """The objects that failed, as finish_batch and finish_cleanup take them."""
    return [
        {
            "backend": o.backend,
            "object_key": o.object_key,
            "error": why.error,
            "permanent": why.permanent,
            "outage": why.outage,
        }
        for o in objects
        if (why := failed.get((o.backend, o.object_key)))
    ]


def code_failures(failed: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cache entries that failed, as finish_batch and finish_invalidations take them."""
    return [{"short_code": code, "error": error} for code, error in failed.items()]
