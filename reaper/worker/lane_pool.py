"""The lanes that a worker process drains with, kept open between jobs."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable
from dataclasses import replace

from reaper.concurrency import Stop
from reaper.expiry.lane import Drained, Lane


class LanePool:
    """As many lanes as this process may drain with at a time."""

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self._free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        for lane in lanes:
            self._free.put(lane)

    def drain(self, stop: Callable[[], Stop], gate: Callable[[Stop], bool]) -> Drained:
        """Wait for a free lane, then take it through the backlog; `stop` is made when that begins."""
        lane = self._free.get()
        try:
            return replace(lane, stop=stop(), gate=gate).run()
        finally:
            self._free.put(lane)
