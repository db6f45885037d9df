"""A gate that lets batches begin only so often."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from reaper.stop import Stop


@dataclass
class Pace:
    """At most so many rows a second, if each batch is full."""

    rows_per_second: float
    batch_size: int
    _next: float = field(default_factory=time.monotonic)

    def __call__(self, stop: Stop) -> bool:
        """Wait for the next batch's turn."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = max(self._next, time.monotonic()) + self.batch_size / self.rows_per_second
        return not stop.is_set()
