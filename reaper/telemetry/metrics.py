"""The Prometheus metrics of a process."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, write_to_textfile

from reaper.telemetry.state_gauges import StateGauges
from reaper.version import installed_version

WRITE_EVERY = 15.0
ComplainOfFile = Callable[[Path, OSError], None]

FIGURES = {
    "rows_deleted": "Paste rows that are gone; one reference was released for each.",
    "rows_returned": "Claimed rows that were given back alive.",
    "rows_blocked": "Rows that PostgreSQL refused to delete.",
    "objects_deleted": "Objects that are confirmed gone.",
    "objects_failed": "Objects that went to the cleanup queue or the DLQ.",
    "dead_letters": "Objects that went to the DLQ.",
    "bytes_freed": "Bytes of objects that are confirmed gone.",
    "invalidations_failed": "Cache entries that went to the queue of invalidations.",
}


class Metrics:
    """Everything that is counted and timed; the names are in docs/operations.md."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.figures = {name: self._counter(f"{name}_total", text) for name, text in FIGURES.items()}
        self.batches_finished = self._counter("batches_finished_total", "Batches that were settled.")
        self.claims_lost = self._counter(
            "claims_lost_total",
            "Batches and leases that were taken back while this process held them (RP001).",
        )
        self.step_seconds = self._histogram("step_seconds", "Time that each step of a batch takes.", "step")
        self.job_seconds = self._histogram("job_seconds", "Time that jobs take.", "task")
        self.jobs_failed = self._counter("jobs_failed_total", "Jobs that raised an error.", "task")
        self.notifications_ignored = self._counter(
            "notifications_ignored_total",
            "Notifications on the queue's channels that are not procrastinate's.",
        )
        self.service_runs = self._counter(
            "service_runs_total",
            "Runs of services: done, failed, or skipped because another worker held the service lock.",
            *("service", "outcome"),
        )
        self.service_items = self._counter(
            "service_items_total", "What the runs of services did, by outcome.", "service", "outcome"
        )
        self.backend_failures = self._counter(
            "backend_failures_total", "Requests to a backend that had no answer.", "backend"
        )
        self.circuit_open = self._gauge(
            "circuit_open", "1 while the backend's circuit is open or half open.", "backend"
        )
        self.foreign_bucket = self._gauge(
            "foreign_bucket", "1 while the backend's bucket belongs to another installation.", "backend"
        )
        self.degraded = self._gauge(
            "degraded", "1 while this service is unreachable and reaper works without it.", "service"
        )
        self.throttled = self._gauge("throttled", "1 while this process waits before its next batch.")
        self._gauge("build_info", "Always 1; the labels say what runs.", "version", "python").labels(
            installed_version(), platform.python_version()
        ).set(1)
        self.state = StateGauges()
        self.registry.register(self.state)

    def count_items(self, service: str, figures: Mapping[str, int]) -> None:
        """Add what a run of a service did."""
        for outcome, number in figures.items():
            self.service_items.labels(service, outcome).inc(number)

    @contextmanager
    def written_to(self, path: Path, complain: ComplainOfFile) -> Iterator[None]:
        """Keep the metrics in a file while the block runs, for those who collect from files."""
        done = Event()
        writer = Thread(target=self._write, args=(path, done, complain), name="metrics", daemon=True)
        writer.start()
        try:
            yield
        finally:
            done.set()
            writer.join()

    def _write(self, path: Path, done: Event, complain: ComplainOfFile) -> None:
        over = False
        while not over:
            over = done.wait(WRITE_EVERY)
            try:
                write_to_textfile(str(path), self.registry)
            except OSError as error:
                complain(path, error)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"reaper_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"reaper_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(f"reaper_{name}", text, labels, registry=self.registry)
