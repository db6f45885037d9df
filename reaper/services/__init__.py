"""The background services, one file each; `reaper/services/base.py` says what one is."""

from __future__ import annotations

from reaper.services import (
    accounts,
    breaker_watchdog,
    cleanup_queue,
    drain,
    invalidations,
    job_rescue,
    notifications,
    pending_reaper,
    prune,
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
    accounts.SERVICE,
    usage_flush.SERVICE,
    job_rescue.SERVICE,
    unreferenced.SERVICE,
    notifications.SERVICE,
    prune.SERVICE,
)
