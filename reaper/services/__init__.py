"""The background services, one file each; `reaper/services/base.py` says what one is."""

from __future__ import annotations

from reaper.services import (
    accounts,
    breaker_watchdog,
    cleanup_queue,
    drain,
    invalidations,
    job_rescue,
    lifecycle,
    multipart_cleanup,
    notifications,
    over_replication,
    pending_reaper,
    prune,
    rebalancer,
    reconciler,
    replicator,
    scrubber,
    unreferenced,
    usage_flush,
    watchdog,
)
from reaper.services.base import Service

ALL: tuple[Service, ...] = (
    drain.SERVICE,
    watchdog.SERVICE,
    cleanup_queue.SERVICE,
    invalidations.SERVICE,
    pending_reaper.SERVICE,
    breaker_watchdog.SERVICE,
    replicator.SERVICE,
    over_replication.SERVICE,
    rebalancer.SERVICE,
    accounts.SERVICE,
    usage_flush.SERVICE,
    job_rescue.SERVICE,
    unreferenced.SERVICE,
    notifications.SERVICE,
    lifecycle.SERVICE,
    multipart_cleanup.SERVICE,
    reconciler.SERVICE,
    scrubber.SERVICE,
    prune.SERVICE,
)
