"""The gauges that describe the whole installation; every worker serves the same snapshot of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

# Older than this it is no longer served: an alert on what is not known any more would tell of the past.
OLDEST = 15.0

# Label names, and what it says. Beside the snapshot's own time these are all that PostgreSQL gives.
GAUGES: Mapping[str, tuple[Sequence[str], str]] = {
    "due_rows": ((), "Pastes that are due and not deleted yet; 100000 means at least that many."),
    "oldest_due_age_seconds": ((), "Time since the oldest due paste expired; 0 when none is due."),
    "expiry_lag_seconds": (
        ("quantile",),
        "Time since expiry of the pastes that are due now, of the oldest 100000.",
    ),
    "verdict": (("verdict",), "1 for the verdict of reaper.health, 0 for the others."),
    "batches_in_flight": (("state",), "Batches that are being worked on."),
    "batches_stuck": ((), "Batches in reaper.stuck."),
    "workers_alive": ((), "Workers that take jobs and whose heartbeat is young."),
    "blocked_rows": ((), "Rows that PostgreSQL refused to delete; 100000 means at least that many."),
    "cleanup_queue_objects": ((), "Objects queued for deletion; 100000 means at least that many."),
    "invalidations_queued": ((), "Cache entries queued for deletion; 100000 means at least that many."),
    "dlq_objects": (("cause",), "Objects in the DLQ; causes together stop at 100000."),
    "put_intents": ((), "Puts in progress; 100000 means at least that many."),
    "objects": ((), "Copies in reaper.object_locations, as the statistics of the table estimate them."),
    "copy_wants": ((), "Contents that want copies; 100000 means at least that many."),
    "copies": (("trouble",), "Copies that are missing or corrupt; 100000 means at least that many."),
    "multipart_uploads": ((), "Multipart uploads that were open when multipart_cleanup last looked."),
    "oldest_multipart_upload_timestamp_seconds": ((), "When the oldest of them began; 0 when there is none."),
    "verified_share": (
        ("backend",),
        "Share of the copies on a backend that were verified within 30 days, as last counted.",
    ),
    "oldest_verified_timestamp_seconds": (
        ("backend",),
        "When that copy on a backend was verified of which it is longest ago; 0 = one never was.",
    ),
    "untracked_objects": (
        ("backend",),
        "Objects on a backend that no row names, as of the last comparison; 100000 means at least that many.",
    ),
    "backend_bytes": (("backend", "kind"), "Bytes on a backend: used, orphan (owed deletions), reserved."),
    "backend_quota_bytes": (("backend",), "Quota of a backend; absent where there is none."),
    "backend_circuit": (("backend", "state"), "1 for the state of the backend's circuit, 0 for the others."),
    "backend_nearly_full": (
        ("backend", "what"),
        "1 while settings.near_limit of this quota or monthly limit is used.",
    ),
    "usage_month_requests": (("backend",), "S3 requests of this month (UTC), as far as flushed."),
    "usage_month_ingress_bytes": (("backend",), "Bytes sent to the backend this month, as far as flushed."),
    "usage_month_egress_bytes": (("backend",), "Bytes read from the backend this month, as far as flushed."),
    "usage_limit": (("backend", "what"), "Monthly limit of a backend; absent where there is none."),
    "service_last_success_timestamp_seconds": (("service",), "When a run last ended without an error."),
    "service_consecutive_failures": (("service",), "Runs of the service that failed since its last success."),
}
TAKEN_AT = "state_snapshot_timestamp_seconds"


class StateGauges(Collector):
    """Gives a registry the last snapshot that was shown to it, as long as that is young."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._families: list[GaugeMetricFamily] = []
        self._old_at = 0.0

    def show(self, taken_at: float, age: float, gauges: Iterable[Mapping[str, Any]]) -> None:
        """Serve this snapshot from now on; `taken_at` is the database's time, `age` was its age just now."""
        families = {name: _family(name, text, labels) for name, (labels, text) in GAUGES.items()}
        for gauge in gauges:
            family = families.get(gauge["gauge"])
            if family is not None:
                labels = [str(gauge["labels"].get(label, "")) for label in GAUGES[gauge["gauge"]][0]]
                family.add_metric(labels, float(gauge["value"]))
        taken = _family(TAKEN_AT, "When the snapshot of the state gauges was taken.", ())
        taken.add_metric((), taken_at)
        with self._guard:
            self._families = [*families.values(), taken]
            self._old_at = self._clock() + OLDEST - age

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The snapshot; nothing when it is too old."""
        with self._guard:
            return list(self._families) if self._clock() < self._old_at else []

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """All that it may have, so that no other metric takes a name."""
        return [_family(name, text, labels) for name, (labels, text) in GAUGES.items()]


def _family(name: str, text: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"reaper_{name}", text, labels=labels)
