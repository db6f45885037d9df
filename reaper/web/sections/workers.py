"""Workers: the processes of the last hour, what each holds, why it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import Look, Section

_SHOWN = 100


def ask(look: Look) -> Mapping[str, Any]:
    """The fleet, those alive first."""
    workers = sorted(look.status.workers, key=lambda worker: (not worker.alive, worker.worker))
    return {
        "workers": workers[:_SHOWN],
        "more": len(workers[_SHOWN:]),
        "in_flight": look.status.in_flight,
        "slots": look.status.slots,
    }


def _degraded(shown: Mapping[str, Any]) -> int:
    return sum(bool(worker.alive and worker.degraded) for worker in shown["workers"])


SECTION = Section("workers", "Workers", ask, _degraded)
