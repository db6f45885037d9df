"""When work is to end: somebody said so, its time is over, or what it stands on is gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Stop(Protocol):
    """Asked between two steps of work; a threading.Event is one."""

    def is_set(self) -> bool:
        """Whether to end at the next good moment."""


class Until:
    """Stops with another stop, when its time is over, or when a condition no longer holds."""

    def __init__(self, stop: Stop, seconds: float, holds: Callable[[], bool] = lambda: True) -> None:
        self._stop = stop
        self._deadline = time.monotonic() + seconds
        self._holds = holds

    def is_set(self) -> bool:
        """Whether any of the three is so."""
        return self._stop.is_set() or time.monotonic() >= self._deadline or not self._holds()
