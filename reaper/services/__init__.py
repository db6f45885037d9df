"""The background services, one file each; `reaper/service.py` says what one is."""

from __future__ import annotations

from reaper.service import Service
from reaper.services import drain, job_rescue, owed, prune, watchdog

ALL: tuple[Service, ...] = (
    drain.SERVICE,
    watchdog.SERVICE,
    owed.SERVICE,
    job_rescue.SERVICE,
    prune.SERVICE,
)
