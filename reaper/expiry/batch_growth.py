"""Batches that grow while they are quick: larger ones cost less per row, but hold their locks for longer.

A batch has costs of its own (the look at the binding, the journal, the wait for the disk), and rows that are
released together share pages of tables and indexes. How long it takes depends on the machine: rows that must
be read from a disk first take a hundred times as long as rows in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

# A writer of the same content waits for as long as a batch takes: below this, in seconds, it may be larger.
SHORT = 0.2
MOST_TIMES = 5.0
# No clock is that exact.
SHORTEST = 0.001


class BatchGrowth:
    """How many times the batch size the next batch of a lane may have: from 1 to 5."""

    def __init__(self) -> None:
        self.times = 1.0
        self._most = MOST_TIMES

    @contextmanager
    def measured(self) -> Iterator[None]:
        """The block takes one batch and releases it."""
        began = time.monotonic()
        yield
        self.took(time.monotonic() - began)

    def took(self, seconds: float) -> None:
        """What the last batch says about the next.

        One that took long may have waited for contents that another lane's batch held, as large batches of
        shared contents do: none of this drain is more than half as large.
        """
        if seconds > SHORT:
            self._most = max(1.0, self.times / 2)
        self.times = max(1.0, min(self._most, self.times * SHORT / max(seconds, SHORTEST)))
