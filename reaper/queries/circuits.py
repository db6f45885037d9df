"""Which backends answer."""

from __future__ import annotations

from uuid import UUID

from reaper.model import (
    Circuit,
)
from reaper.queries.base import Area, commits, reads


class Circuits(Area):
    """Which backends answer."""

    @reads
    def circuit_states(self) -> list[Circuit]:
        """The circuits of all backends that were ever in trouble."""
        return self._db.all(Circuit, "select * from reaper.circuit_states()")

    @commits
    def record_backend_failure(self, backend: str, error: str) -> str:
        """Say that a backend did not answer; the state of its circuit after that."""
        return str(self._db.value("select reaper.record_backend_failure(%s, %s)", backend, error))

    @commits
    def record_backend_success(self, backend: str) -> bool:
        """Say that a backend answered; whether that closed its circuit."""
        return bool(self._db.value("select reaper.record_backend_success(%s)", backend))

    @commits
    def claim_probe(self, backend: str) -> UUID | None:
        """The token for the one probe of a backend whose pause is over; None for all others."""
        token: UUID | None = self._db.value("select reaper.claim_probe(%s)", backend)
        return token

    @commits
    def finish_probe(self, backend: str, probe: UUID, error: str | None) -> bool:
        """Say how a probe ended; False when it came too late to matter."""
        return bool(self._db.value("select reaper.finish_probe(%s, %s, %s)", backend, probe, error))

    @commits
    def reset_stale_probes(self) -> int:
        """Open the circuits whose prober died; returns how many."""
        return int(self._db.value("select reaper.reset_stale_probes()"))
