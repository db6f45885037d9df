"""How much one worker process takes on."""

from __future__ import annotations

from dataclasses import dataclass

QUEUE = "reaper"
# Where procrastinate's tables are, unless REAPER_QUEUE_SCHEMA says otherwise.
QUEUE_SCHEMA = "procrastinate"
# How often a worker looks for jobs of which no notification came, in seconds.
POLL = 1.0
# Where the health port listens unless told otherwise: it has no password.
LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class WorkerOptions:
    """What `reaper worker` is told."""

    queues: tuple[str, ...] = (QUEUE,)
    slots: int = 2
    jobs: int | None = None
    health_port: int | None = None
    health_address: str = LOCAL

    @property
    def concurrency(self) -> int:
        """Jobs at the same time: the slots, and some for the services and the tick."""
        return self.jobs or self.slots + 4
