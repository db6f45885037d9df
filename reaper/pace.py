"""A pace for a process: batches begin so often that about so many rows a second go, over all its lanes."""

from __future__ import annotations

import threading
import time

from reaper.stop import Stop

# Somebody else waits for as long as a batch takes, and for the disk as often as one commits. About this many
# rows disturb least; beyond, a batch is as large as it must be for so many a second.
GENTLE_ROWS = 25
BATCHES_PER_SECOND = 80
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
        return min(rows, max(GENTLE_ROWS, round(self._rows_per_second / BATCHES_PER_SECOND)))

    def wait(self, rows: int, stop: Stop) -> None:
        """Wait for the turn of a batch of so many rows, or for the stop."""
        if self._rows_per_second is None:
            return
        with self._guard:
            turn = max(self._free_at, time.monotonic())
            self._free_at = turn + rows / self._rows_per_second
        while (left := turn - time.monotonic()) > 0 and not stop.is_set():
            time.sleep(min(left, STEP))
