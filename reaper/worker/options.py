"""How much one worker process takes on."""

from __future__ import annotations

from dataclasses import dataclass

QUEUE = "reaper"


@dataclass(frozen=True)
class WorkerOptions:
    """What `reaper worker` is told."""

    queues: tuple[str, ...] = (QUEUE,)
    slots: int = 2
    jobs: int | None = None
    health_port: int | None = None

    @property
    def concurrency(self) -> int:
        """Jobs at the same time: the slots, and some for the services and the tick."""
        return self.jobs or self.slots + 4
