"""The only place that words log events and metrics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from uuid import UUID

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, write_to_textfile

from reaper.errors import ReaperError
from reaper.model import Batch, Circuit, Figures, Rescued, Reset

WRITE_EVERY = 15.0
CIRCUITS = "circuits"


class Telemetry:
    """Counts, times and logs what happens; nothing depends on it."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._log = structlog.get_logger("reaper")
        self._guard = threading.Lock()
        self._totals = Figures()
        self._batches = 0
        self._said: set[str] = set()
        self._watchers: list[Callable[[Figures], None]] = []
        self._figures = {
            name: Counter(f"reaper_{name}_total", help_text, registry=self.registry)
            for name, help_text in {
                "rows_deleted": "Paste rows that are gone; one reference was released for each.",
                "rows_returned": "Claimed rows that were given back alive.",
                "rows_blocked": "Rows that PostgreSQL refused to delete.",
                "objects_deleted": "Objects that are confirmed gone.",
                "objects_failed": "Objects that went to the cleanup queue or the dead letters.",
                "bytes_freed": "Bytes of objects that are confirmed gone.",
                "invalidations_failed": "Cache entries that went to the queue of invalidations.",
            }.items()
        }
        self._finished = Counter(
            "reaper_batches_finished_total", "Batches that were settled.", registry=self.registry
        )
        self._lost = Counter(
            "reaper_claims_lost_total",
            "Batches and leases that were taken back while we held them (RP001).",
            registry=self.registry,
        )
        self._reset = Counter(
            "reaper_rows_reset_total", "Rows that the watchdog took back.", registry=self.registry
        )
        self._orphaned = Counter(
            "reaper_batches_orphaned_total", "Released batches of silent workers.", registry=self.registry
        )
        self._degraded = Gauge(
            "reaper_degraded",
            "1 while this service is away and reaper goes on without it.",
            ["service"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "reaper_step_seconds", "Time that each step of a batch takes.", ["step"], registry=self.registry
        )
        self._jobs = Histogram("reaper_job_seconds", "Time that jobs take.", ["task"], registry=self.registry)
        self._jobs_failed = Counter(
            "reaper_jobs_failed_total", "Jobs that raised an error.", ["task"], registry=self.registry
        )
        self._runs = Counter(
            "reaper_service_runs_total",
            "Runs of services by how they ended: done, failed, or skipped because another worker was at it.",
            ["service", "outcome"],
            registry=self.registry,
        )
        self._backend_failures = Counter(
            "reaper_backend_failures_total",
            "Requests to a backend that had no answer.",
            ["backend"],
            registry=self.registry,
        )
        self._circuit_open = Gauge(
            "reaper_circuit_open",
            "1 while the backend is left alone or probed.",
            ["backend"],
            registry=self.registry,
        )
        self._left_alone: set[str] = set()
        self._retries = Counter(
            "reaper_cleanup_retries_total",
            "Objects of the cleanup queue that were tried again, by how that ended: gone or failed.",
            ["backend", "outcome"],
            registry=self.registry,
        )
        self._intents = Counter(
            "reaper_intents_resolved_total",
            "Puts that their writers left open, by what became of them.",
            ["backend", "outcome"],
            registry=self.registry,
        )
        self._throttled = Gauge(
            "reaper_throttled", "1 while this process waits before its next batch.", registry=self.registry
        )

    @property
    def totals(self) -> Figures:
        """What this process has done so far."""
        with self._guard:
            return self._totals

    @property
    def batches(self) -> int:
        """How many batches this process has settled."""
        with self._guard:
            return self._batches

    def watch(self, watcher: Callable[[Figures], None]) -> None:
        """Call `watcher` with the figures of each finished batch."""
        self._watchers.append(watcher)

    @contextmanager
    def written_to(self, path: Path | None) -> Iterator[None]:
        """Keep the metrics in a file while the block runs, for those who collect from files."""
        if path is None:
            yield
            return
        done = threading.Event()
        writer = threading.Thread(target=self._write, args=(path, done), name="metrics", daemon=True)
        writer.start()
        try:
            yield
        finally:
            done.set()
            writer.join()

    def _write(self, path: Path, done: threading.Event) -> None:
        over = False
        while not over:
            over = done.wait(WRITE_EVERY)
            try:
                write_to_textfile(str(path), self.registry)
            except OSError as error:
                self._log.warning("metrics not written", path=str(path), reason=error.strerror)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step of a batch."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds.labels(name).observe(time.perf_counter() - began)

    def finished(self, batch: Batch, figures: Figures) -> None:
        """A batch is settled."""
        with self._guard:
            self._totals = Figures(
                *(getattr(self._totals, f.name) + getattr(figures, f.name) for f in fields(Figures))
            )
            self._batches += 1
        for name, counter in self._figures.items():
            counter.inc(getattr(figures, name))
        self._finished.inc()
        self._log.debug(
            "batch finished",
            batch=str(batch.batch_id),
            rows=figures.rows_deleted,
            objects=figures.objects_deleted,
            failed=figures.objects_failed,
        )
        for watcher in self._watchers:
            watcher(replace(figures))

    def claim_lost(self, batch_id: UUID) -> None:
        """A batch was taken from us; nothing of it is lost."""
        self._lost.inc()
        self._log.warning("batch was taken back while we held it", batch=str(batch_id))

    def lease_lost(self, lease: UUID) -> None:
        """A lease ran out before its work was settled; whoever has it now does it again."""
        self._lost.inc()
        self._log.warning("lease ran out while we held it", lease=str(lease))

    def left_undone(self, error: ReaperError) -> None:
        """What an earlier worker left could not be finished."""
        self._log.error("what earlier workers left cannot be finished", reason=error.message, hint=error.hint)

    def given_back(self, batch_id: UUID, error: ReaperError) -> None:
        """A batch was given back because its rows stayed locked."""
        self._log.warning("batch given back", batch=str(batch_id), reason=error.message)

    def silent(self, error: ReaperError) -> None:
        """A heartbeat did not get through."""
        self._log.warning("heartbeat failed", reason=error.message)

    def reset(self, reset: Reset) -> None:
        """The watchdog has looked."""
        self._reset.inc(reset.rows_reset)
        self._orphaned.inc(reset.batches_orphaned)
        if reset.rows_reset or reset.batches_orphaned:
            self._log.warning(
                "took back what dead workers held",
                rows=reset.rows_reset,
                batches=reset.batches_reset,
                orphaned=reset.batches_orphaned,
            )

    def job_ended(self, task: str, seconds: float) -> None:
        """A job has ended, one way or the other."""
        self._jobs.labels(task).observe(seconds)

    def job_failed(self, task: str, job_id: int, error: str) -> None:
        """A job raised an error."""
        self._jobs_failed.labels(task).inc()
        self._log.error("job failed", task=task, job=job_id, reason=error)

    def run_finished(self, service: str) -> None:
        """A service did its work."""
        self._runs.labels(service, "done").inc()
        self._log.debug("service ran", service=service)

    def run_failed(self, service: str, error: str) -> None:
        """A run of a service failed."""
        self._runs.labels(service, "failed").inc()
        self._log.error("service failed", service=service, reason=error)

    def run_skipped(self, service: str) -> None:
        """Another worker is at it, which is no news."""
        self._runs.labels(service, "skipped").inc()

    def rescued(self, jobs: Sequence[Rescued]) -> None:
        """Jobs of dead workers were freed."""
        for job in jobs:
            self._log.warning("job of a dead worker", job=job.job_id, task=job.task, outcome=job.outcome)

    def throttled(self, reason: str | None) -> None:
        """The process begins to wait before its next batch, or goes on."""
        self._throttled.set(reason is not None)
        if reason is None:
            self._log.info("going on")
        else:
            self._log.warning("waiting before the next batch", reason=reason)

    def backend_failed(self, backend: str) -> None:
        """A request to a backend had no answer; the circuit says what follows from that."""
        self._backend_failures.labels(backend).inc()

    def backend_silent(self, backend: str, reason: str) -> None:
        """At the start one backend does not answer, and others do."""
        self._log.warning("backend does not answer, going on with the others", backend=backend, reason=reason)

    def retried(self, backend: str, gone: int, failed: int) -> None:
        """Objects whose deletion was owed were tried again."""
        self._retries.labels(backend, "gone").inc(gone)
        self._retries.labels(backend, "failed").inc(failed)

    def intent_resolved(self, backend: str, outcome: str) -> None:
        """A put that its writer left open is committed, dropped, gone, or deferred."""
        self._intents.labels(backend, outcome).inc()

    def circuits(self, states: Sequence[Circuit]) -> None:
        """The circuits as PostgreSQL has them; news are those that opened or closed since the last time."""
        left_alone = {c.backend: c for c in states if c.state != "closed"}
        with self._guard:
            before, self._left_alone = self._left_alone, set(left_alone)
            self._said.discard(CIRCUITS)
        for circuit in states:
            self._circuit_open.labels(circuit.backend).set(circuit.backend in left_alone)
        for backend in sorted(left_alone.keys() - before):
            self._log.warning(
                "backend does not answer and is left alone",
                backend=backend,
                until=str(left_alone[backend].retry_at),
                reason=left_alone[backend].last_error,
            )
        for backend in sorted(before - left_alone.keys()):
            self._log.info("backend answers again", backend=backend)

    def circuits_unknown(self, error: ReaperError) -> None:
        """PostgreSQL does not say which backends are left alone; said once until it does."""
        with self._guard:
            if CIRCUITS in self._said:
                return
            self._said.add(CIRCUITS)
        self._log.warning("circuits are unknown, every backend is tried", reason=error.message)

    def worker_started(self, queues: Sequence[str], slots: int, concurrency: int) -> None:
        """The worker takes jobs from here on."""
        self._log.info("worker started", queues=list(queues), slots=slots, concurrency=concurrency)

    def worker_stopping(self, asked: bool) -> None:
        """The worker takes no more jobs and waits for those that run."""
        log = self._log.info if asked else self._log.error
        log("worker stops" if asked else "worker lost its queue and stops", asked=asked)

    def worker_gave_up(self, seconds: float) -> None:
        """The worker did not end in time, and is ended; others finish what it leaves."""
        self._log.error("did not end in time; what is left is for the watchdog", seconds=seconds)

    def library(self, name: str, message: str) -> None:
        """A library that we use complains."""
        self._log.warning(message, library=name)

    def degraded(self, service: str, reason: str) -> None:
        """A service is away; said once until it is back."""
        self._degraded.labels(service).set(1)
        with self._guard:
            if service in self._said:
                return
            self._said.add(service)
        self._log.warning(f"{service} is away, going on without it", reason=reason)

    def recovered(self, service: str) -> None:
        """The service answers again."""
        self._degraded.labels(service).set(0)
        with self._guard:
            if service not in self._said:
                return
            self._said.discard(service)
        self._log.info(f"{service} is back")
