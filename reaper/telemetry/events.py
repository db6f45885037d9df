"""Log events and metrics: the only place that words log events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from prometheus_client import CollectorRegistry

from reaper.errors import ReaperError, describe
from reaper.model import Batch, Circuit, Figures, RescuedJob, ResetCounts
from reaper.telemetry.logging import get_logger
from reaper.telemetry.metrics import Metrics
from reaper.version import installed_version

CIRCUITS = "circuits"
# What nobody has asked for so long may be back, or not be needed any more.
FORGOTTEN_AFTER = 600.0


class Telemetry:
    """Counts, times and logs what happens; nothing depends on it."""

    def __init__(self, worker: str | None = None, registry: CollectorRegistry | None = None) -> None:
        self._metrics = Metrics(registry)
        self._log = get_logger(worker=worker, version=installed_version())
        self._guard = threading.Lock()
        self._totals = Figures()
        self._batches = 0
        self._logged: set[str] = set()
        # Why, and when that was last noticed.
        self._degraded: dict[str, tuple[str, float]] = {}
        self._open_circuits: set[str] = set()
        self._foreign_buckets: set[str] = set()
        # Why the last batch was given back, if any was.
        self.batch_error: str | None = None
        self._watchers: list[Callable[[Figures], None]] = []
        # By thread: what it waits for, and since when.
        self._waits: dict[int, tuple[str, float]] = {}

    @property
    def registry(self) -> CollectorRegistry:
        """Where the metrics are collected from."""
        return self._metrics.registry

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
    def waiting(self, reason: str) -> Iterator[None]:
        """This thread waits for something, which is shown where a person watches."""
        thread = threading.get_ident()
        with self._guard:
            self._waits[thread] = (reason, time.monotonic())
        try:
            yield
        finally:
            with self._guard:
                del self._waits[thread]

    def wait(self, longer_than: float = 0.0) -> str | None:
        """What a thread of this process has waited for longest, or which circuit is open; None if nothing."""
        with self._guard:
            waits = sorted(self._waits.values(), key=lambda wait: wait[1])
            circuits = sorted(self._open_circuits)
        for reason, since in waits:
            if time.monotonic() - since >= longer_than:
                return reason
        return f"circuit open: {', '.join(circuits)}" if circuits else None

    @contextmanager
    def written_to(self, path: Path | None) -> Iterator[None]:
        """Keep the metrics in a file while the block runs, if there is one."""
        if path is None:
            yield
            return
        with self._metrics.written_to(path, self._metrics_not_written):
            yield

    def _metrics_not_written(self, path: Path, error: OSError) -> None:
        self._log.warning("metrics file not written", path=str(path), error=error.strerror)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step of a batch."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._metrics.step_seconds.labels(name).observe(time.perf_counter() - began)

    def finished(self, batch: Batch, figures: Figures) -> None:
        """A batch is settled."""
        with self._guard:
            self._totals += figures
            self._batches += 1
        for name, counter in self._metrics.figures.items():
            counter.inc(getattr(figures, name))
        self._metrics.batches_finished.inc()
        self._log.debug(
            "batch finished",
            batch=str(batch.batch_id),
            rows=figures.rows_deleted,
            objects=figures.objects_deleted,
            failed=figures.objects_failed,
        )
        for watcher in self._watchers:
            watcher(figures)

    def claim_lost(self, batch_id: UUID) -> None:
        """The watchdog took a batch from this worker; another worker does it."""
        self._metrics.claims_lost.inc()
        self._log.warning("batch taken back by the watchdog while this worker held it", batch=str(batch_id))

    def lease_lost(self, lease: UUID) -> None:
        """A lease ran out before its work was settled; the worker that has it now does it again."""
        self._metrics.claims_lost.inc()
        self._log.warning("lease expired before its work was settled", lease=str(lease))

    def copy_trouble(self, backend: str, object_key: str, trouble: str, detail: str) -> None:
        """A copy that was to be read is missing or corrupt."""
        self._log.warning(
            "bad copy found", trouble=trouble, backend=backend, object_key=object_key, detail=detail
        )

    def copy_not_reported(self, error: ReaperError) -> None:
        """A reader found a copy missing or corrupt, and PostgreSQL did not take the report."""
        self._log.warning("trouble of a copy not reported", error=error.message)

    def earlier_work_failed(self, error: ReaperError) -> None:
        """The batches or retries of earlier workers could not be finished."""
        self._log.error(
            "batches or retries of earlier workers not finished", error=error.message, hint=error.hint
        )

    def keys_checked(self, table: str, looked: int, found: int, confirmed: bool) -> None:
        """A sample of the objects was looked for before the first claim."""
        if confirmed:
            self._log.info("object keys confirmed", table=table, looked=looked, found=found)
        else:
            self._log.error("object keys not confirmed", table=table, looked=looked, found=found)

    def batch_given_up(self, batch_id: UUID, error: Exception) -> None:
        """A drop or finish failed; the batch goes back, for another try."""
        self.batch_error = describe(error)
        self._log.warning(
            "batch returned, its drop or finish failed", batch=str(batch_id), error=describe(error)
        )

    def rows_held(self, error: ReaperError) -> None:
        """Due rows were not released, because other sessions hold them."""
        self.batch_error = describe(error)
        self._log.warning("due rows locked by other sessions", error=error.message)

    def return_failed(self, batch_id: UUID, error: ReaperError) -> None:
        """A batch could not be returned; the next heartbeat tries again."""
        self._log.warning(
            "batch not returned yet, will be tried again", batch=str(batch_id), error=error.message
        )

    def heartbeat_failed(self, error: ReaperError) -> None:
        """A heartbeat did not reach PostgreSQL."""
        self._log.warning("heartbeat failed", error=error.message)

    def job_ended(self, task: str, seconds: float) -> None:
        """A job has ended, well or not."""
        self._metrics.job_seconds.labels(task).observe(seconds)

    def job_failed(self, task: str, job_id: int, error: str) -> None:
        """A job raised an error."""
        self._metrics.jobs_failed.labels(task).inc()
        self._log.error("job failed", task=task, job=job_id, error=error)

    def run_finished(self, service: str, figures: Mapping[str, int]) -> None:
        """A run of a service has ended well: a line where it did something."""
        self._metrics.service_runs.labels(service, "done").inc()
        self._metrics.count_items(service, figures)
        done = {name: number for name, number in figures.items() if number}
        log = self._log.info if done else self._log.debug
        log("service run finished", service=service, **done)

    def run_failed(self, service: str, error: str) -> None:
        """A run of a service failed."""
        self._metrics.service_runs.labels(service, "failed").inc()
        self._log.error("service run failed", service=service, error=error)

    def run_skipped(self, service: str) -> None:
        """Another worker holds the service lock: counted, not logged."""
        self._metrics.service_runs.labels(service, "skipped").inc()

    def rescued(self, jobs: Sequence[RescuedJob]) -> None:
        """Jobs of dead workers were queued again or failed."""
        for job in jobs:
            self._log.warning(
                "job of a dead worker rescued", job=job.job_id, task=job.task, outcome=job.outcome
            )

    def throttled(self, service: str, reason: str | None) -> None:
        """The process begins to wait before its next batch, or no longer waits."""
        self._metrics.throttled.set(reason is not None)
        if reason is None:
            self._log.info(f"throttle lifted, {service} resumed")
        else:
            self._log.warning(f"{service} throttled", reason=reason)

    def dead_workers(self, reset: ResetCounts) -> None:
        """The watchdog took something back, so a worker died."""
        if reset.rows_reset or reset.batches_orphaned:
            self._log.warning(
                "batches of dead workers taken back",
                rows=reset.rows_reset,
                claimed=reset.batches_reset,
                released=reset.batches_orphaned,
            )

    def state(self, taken_at: float, age: float, gauges: Iterable[Mapping[str, Any]]) -> None:
        """A snapshot of the state gauges, to be served until it is old."""
        self._metrics.state.show(taken_at, age, gauges)
        self.recovered("state gauges")

    def state_unknown(self, error: ReaperError) -> None:
        """PostgreSQL did not tell the state gauges. Logged once until it does."""
        if self._is_first("state gauges"):
            self._log.warning("state gauges unknown, not served until they are known", error=error.message)

    def usage_not_flushed(self, error: ReaperError) -> None:
        """PostgreSQL did not take the counted requests; the next flush carries them. Logged once."""
        if self._is_first("usage"):
            self._log.warning("usage not flushed, the next flush carries it", error=error.message)

    def backend_failed(self, backend: str) -> None:
        """A request to a backend had no answer; counted, the circuit decides."""
        self._metrics.backend_failures.labels(backend).inc()

    def backend_unreachable_at_start(self, backend: str, error: str) -> None:
        """At the start one backend does not answer, and others do."""
        self._log.warning(
            "backend unreachable at start, other backends are used", backend=backend, error=error
        )

    def circuits(self, states: Sequence[Circuit]) -> None:
        """The circuits as PostgreSQL has them; those that opened or closed since the last call are logged."""
        opened = {c.backend: c for c in states if c.state != "closed"}
        with self._guard:
            before, self._open_circuits = self._open_circuits, set(opened)
            self._logged.discard(CIRCUITS)
        for circuit in states:
            self._metrics.circuit_open.labels(circuit.backend).set(circuit.backend in opened)
        for backend in sorted(opened.keys() - before):
            circuit = opened[backend]
            self._log.warning(
                "circuit opened", backend=backend, error=circuit.last_error, retry_at=str(circuit.retry_at)
            )
        for backend in sorted(before - opened.keys()):
            self._log.info("circuit closed", backend=backend)

    def circuits_unknown(self, error: ReaperError) -> None:
        """PostgreSQL did not tell which circuits are open; logged once until it does."""
        if self._is_first(CIRCUITS):
            self._log.warning("circuit states unknown, every backend is tried", error=error.message)

    def backend_owner(self, backend: str, is_ours: bool, detail: str) -> None:
        """The marker of a backend was compared; what changed since the last comparison is logged."""
        self._metrics.foreign_bucket.labels(backend).set(not is_ours)
        with self._guard:
            was_ours = backend not in self._foreign_buckets
            (self._foreign_buckets.discard if is_ours else self._foreign_buckets.add)(backend)
        if was_ours and not is_ours:
            self._log.error(
                "bucket belongs to another installation, nothing is deleted or stored there",
                backend=backend,
                found=detail,
                fix=f"reaper backend take-over {backend} --reason …",
            )
        if is_ours and not was_ours:
            self._log.info("bucket is ours again", backend=backend)

    def delivery_failed(self, webhook: str, error: str) -> None:
        """An endpoint did not accept an event; it is sent again later, or the webhook is disabled."""
        self._log.warning("delivery to webhook failed", webhook=webhook, error=error)

    def deliveries_held(self, webhook: str, reason: str) -> None:
        """Nothing may be sent to a webhook from here; its events wait."""
        self._log.error("deliveries to webhook held", webhook=webhook, reason=reason)

    def worker_started(self, queues: Sequence[str], slots: int, concurrency: int) -> None:
        """The worker takes jobs from here on."""
        self._log.info("worker started", queues=",".join(queues), slots=slots, concurrency=concurrency)

    def worker_stopping(self, asked: bool) -> None:
        """The worker takes no more jobs and waits for those that run."""
        if asked:
            self._log.info("worker stopping: signal received")
        else:
            self._log.error("worker stopping: connection to the job queue lost")

    def grace_exceeded(self, seconds: float) -> None:
        """The worker did not end in time and is killed; the watchdog takes its batches."""
        self._log.error(f"shutdown grace of {seconds:g} s exceeded; held batches go to the watchdog")

    def library_warning(self, name: str, message: str) -> None:
        """A library that we use logged a warning."""
        self._log.warning(message, library=name)

    def notification_ignored(self, channel: str) -> None:
        """A NOTIFY on the queue's channel was not procrastinate's; any login can send one. Logged once."""
        self._metrics.notifications_ignored.inc()
        if self._is_first("notifications"):
            self._log.warning(
                "notification ignored, its payload is not procrastinate's; further ones are only counted",
                channel=channel,
            )

    @property
    def degraded_services(self) -> dict[str, str]:
        """The services that do not answer this process now, and why; old trouble is forgotten."""
        now = time.monotonic()
        with self._guard:
            for service, (_, noticed_at) in list(self._degraded.items()):
                if now - noticed_at >= FORGOTTEN_AFTER:
                    self._forget(service)
            return {service: error for service, (error, _) in self._degraded.items()}

    def _forget(self, service: str) -> None:
        """Whether it answers is not known: no line says that it does, and new trouble is logged again."""
        del self._degraded[service]
        self._logged.discard(service)
        self._metrics.degraded.labels(service).set(0)

    def degraded(self, service: str, error: str) -> None:
        """A service does not answer; logged once until it does."""
        self._metrics.degraded.labels(service).set(1)
        with self._guard:
            self._degraded[service] = (error, time.monotonic())
        if self._is_first(service):
            self._log.warning(f"{service} unreachable, work continues without it", error=error)

    def recovered(self, service: str) -> None:
        """The service answers again."""
        self._metrics.degraded.labels(service).set(0)
        with self._guard:
            self._degraded.pop(service, None)
            if service not in self._logged:
                return
            self._logged.discard(service)
        self._log.info(f"{service} reachable again")

    def _is_first(self, subject: str) -> bool:
        """Whether this is the first trouble of the subject since it last worked."""
        with self._guard:
            if subject in self._logged:
                return False
            self._logged.add(subject)
            return True
