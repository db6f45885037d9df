"""The lanes that a worker process drains with, kept open between jobs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from reaper.concurrency import Stop
from reaper.expiry.lane import Drained, Lane


class LanePool:
    """As many lanes as this process may drain with at a time."""

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self._free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        for lane in lanes:
            self._free.put(lane)
        self._reservations = threading.Semaphore(self._free.qsize())

    @contextmanager
    def reserved(self) -> Iterator[bool]:
        """Whether a lane is free; it then is while the block runs. Jobs that waited would starve services."""
        if not self._reservations.acquire(blocking=False):
            yield False
            return
        try:
            yield True
        finally:
            self._reservations.release()

    def drain(
        self, stop: Callable[[], Stop], gate: Callable[[Stop], bool], may_retry: Callable[[str], bool]
    ) -> Drained:
        """Wait for a free lane, then take it through the backlog; `stop` is made when that begins."""
        lane = self._free.get()
        try:
            return replace(lane, stop=stop(), gate=gate, may_retry=may_retry).run()
        finally:
            self._free.put(lane)
