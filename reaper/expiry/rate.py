"""A limit of rows per second for a process, over all its lanes: it decides when a batch may begin."""

from __future__ import annotations

import threading
import time

from reaper.concurrency import Stop

# An application waits for as long as a batch takes, and for the disk as often as one commits. About this many
# rows disturb least; beyond, a batch is as large as it must be for so many a second.
GENTLE_ROWS = 25
BATCHES_PER_SECOND = 80
# How much of the time that batches lose by waiting for a backend is made up for by larger ones, in seconds.
MADE_UP_FOR = 1.0
# How long a stop goes unnoticed at most.
STEP = 0.2


class Rate:
    """Lets batches begin: at once, or each when those before it have had their time."""

    def __init__(self, rows_per_second: float | None = None) -> None:
        self._rows_per_second = rows_per_second
        self._guard = threading.Lock()
        self._free_at = time.monotonic()

    def begin(self) -> None:
        """A drain begins: the time before it is not made up for."""
        with self._guard:
            self._free_at = max(self._free_at, time.monotonic())

    def turn(self, most: int, stop: Stop) -> int:
        """Wait for the turn of the next batch, or for the stop; how many rows it may have."""
        if self._rows_per_second is None:
            return most
        with self._guard:
            now = time.monotonic()
            turn = max(self._free_at, now - MADE_UP_FOR)
            rows = min(most, self._gentle_rows + round(max(0.0, now - turn) * self._rows_per_second))
            self._free_at = turn + rows / self._rows_per_second
        while (left := turn - time.monotonic()) > 0 and not stop.is_set():
            time.sleep(min(left, STEP))
        return rows

    @property
    def _gentle_rows(self) -> int:
        return max(GENTLE_ROWS, round((self._rows_per_second or 0.0) / BATCHES_PER_SECOND))
