"""How large batches are and when one may begin, for a process, over all its lanes.

What an option or a variable says is fixed; the rest follows reaper.settings, also while a drain runs.
"""

from __future__ import annotations

import threading
import time

from reaper.concurrency import Stop

BATCH_SIZE = 1000
# An application waits for as long as a batch takes, and for the disk as often as one commits. About this many
# rows disturb least; beyond, a batch is as large as it must be for so many a second.
GENTLE_ROWS = 25
BATCHES_PER_SECOND = 80
# How much of the time that batches lose by waiting for a backend is made up for by larger ones, in seconds.
MADE_UP_FOR = 1.0
# How long a stop goes unnoticed at most.
STEP = 0.2
# How long to wait without asking whether the pace was changed or the drain paused.
PATIENCE = 1.0


class Rate:
    """Lets batches begin: at once, or each when those before it have had their time."""

    def __init__(self, rows_per_second: float | None = None, batch_size: int | None = None) -> None:
        self._fixed = rows_per_second
        self._fixed_size = batch_size
        self._rows_per_second = rows_per_second
        self._batch_size = batch_size or BATCH_SIZE
        self._guard = threading.Lock()
        self._free_at = time.monotonic()

    def follow(self, batch_size: int, rows_per_second: float | None) -> None:
        """Take what reaper.settings says, where nothing else was said; from the next batch on."""
        with self._guard:
            self._batch_size = self._fixed_size or batch_size
            pace = self._fixed or rows_per_second
            if pace != self._rows_per_second:
                # The time that the last batch still had at the former pace is over.
                self._rows_per_second, self._free_at = pace, time.monotonic()

    def begin(self) -> None:
        """A drain begins: the time before it is not made up for."""
        with self._guard:
            self._free_at = max(self._free_at, time.monotonic())

    @property
    def rows_per_second(self) -> float | None:
        """The limit now."""
        return self._rows_per_second

    def turn(self, stop: Stop, times: float = 1.0) -> int:
        """How many rows the next batch may have, once it is its turn; 0 when it is not within a second.

        So many times the batch size if that is the default; a size that was chosen is kept, and so is a pace.
        """
        until = time.monotonic() + PATIENCE
        while not (rows := self._take(times)):
            now = time.monotonic()
            if now >= until or stop.is_set():
                return 0
            time.sleep(max(min(self._free_at - now, until - now, STEP), 0.0))
        return rows

    def _take(self, times: float) -> int:
        """The rows of a batch whose turn has come, or 0."""
        with self._guard:
            if self._rows_per_second is None:
                chosen = self._fixed_size or self._batch_size != BATCH_SIZE
                return self._batch_size if chosen else round(BATCH_SIZE * times)
            now = time.monotonic()
            if self._free_at > now:
                return 0
            turn = max(self._free_at, now - MADE_UP_FOR)
            gentle = max(GENTLE_ROWS, round(self._rows_per_second / BATCHES_PER_SECOND))
            rows = min(self._batch_size, gentle + round((now - turn) * self._rows_per_second))
            self._free_at = turn + rows / self._rows_per_second
            return rows
