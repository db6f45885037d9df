"""A pace for a process: batches begin so often that about so many rows a second go, over all its lanes."""

from __future__ import annotations

import threading
import time

from reaper.stop import Stop

# How much of a second's rows one batch may have: somebody else waits for as long as it takes.
LONGEST = 0.025
# How long a stop goes unnoticed at most.
STEP = 0.2


class Pace:
    """Lets batches begin: at once, or each when those before it have had their time."""

    def __init__(self, rows_per_second: float | None = None) -> None:
        self._rows_per_second = rows_per_second
        self._guard = threading.Lock()
        self._free_at = time.monotonic()

    def batch(self, rows: int) -> int:
        """How large a batch of so many rows may be: a pace is kept in small steps, not in bursts."""
        if self._rows_per_second is None:
            return rows
        return max(1, min(rows, round(self._rows_per_second * LONGEST)))

    def wait(self, rows: int, stop: Stop) -> None:
        """Wait for the turn of a batch of so many rows, or for the stop."""
        if self._rows_per_second is None:
            return
        with self._guard:
            turn = max(self._free_at, time.monotonic())
            self._free_at = turn + rows / self._rows_per_second
        while (left := turn - time.monotonic()) > 0 and not stop.is_set():
            time.sleep(min(left, STEP))
