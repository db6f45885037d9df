"""How many requests this process may have under way at once, over all its stores."""

from __future__ import annotations

import threading
from types import TracebackType

DEFAULT_LIMIT = 64


class AdmissionGate:
    """One slot is one request: `with gate:` around each, never around two, or threads wait for themselves.

    A wait is bounded: every request that holds a slot has its own timeouts and deadline.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"max_concurrent_requests must be at least 1, not {limit}")
        self.limit = limit
        self._turns = threading.BoundedSemaphore(limit)
        self._counting = threading.Lock()
        self._in_flight = 0
        self._peak = 0

    @property
    def in_flight(self) -> int:
        """How many requests are under way now."""
        return self._in_flight

    @property
    def peak(self) -> int:
        """The most that ever were."""
        return self._peak

    def __enter__(self) -> None:
        self._turns.acquire()
        with self._counting:
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._counting:
            self._in_flight -= 1
        self._turns.release()
