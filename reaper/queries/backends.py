"""The backends and their byte accounts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from reaper.model import Remains
from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class BackendState:
    """A backend: what lies there, what is owed or announced, whether it answers, and whose bucket it is."""

    name: str
    quota: int | None
    bytes_used: int
    orphan_bytes: int
    reserved_bytes: int
    state: str
    circuit: str
    retry_at: datetime | None
    last_error: str | None
    # ours, other, not checked
    owner: str
    owner_detail: str | None
    owner_checked_at: datetime | None


class Backends(Area):
    """The backends and their byte accounts."""

    @commits
    def register_backend(self, name: str, quota: int | None) -> None:
        """Make a backend known; what a DBA changed stays."""
        self._db.value("select reaper.register_backend(%s, %s)", name, quota)

    @commits
    def fold_accounts(self, limit: int) -> int:
        """Replace rows of the byte accounts by their sums; returns how many."""
        return int(self._db.value("select reaper.fold_accounts(%s)", limit))

    @commits
    def set_backend_state(self, name: str, state: str, reason: str) -> None:
        """Make a backend active, readonly or draining."""
        self._db.value("select reaper.set_backend_state(%s, %s, %s)", name, state, reason)

    @reads
    def backend_remains(self, name: str) -> list[Remains]:
        """What a backend still has or is owed; nothing when it can be removed."""
        return self._db.all(Remains, "select * from reaper.backend_remains(%s)", name)

    @commits
    def remove_backend(self, name: str, reason: str) -> None:
        """Forget a backend that is drained and empty."""
        self._db.value("select reaper.remove_backend(%s, %s)", name, reason)

    @reads
    def backends(self) -> list[BackendState]:
        """Every backend."""
        return self._db.all(
            BackendState,
            "select name, quota, bytes_used, orphan_bytes, reserved_bytes,"
            " state, circuit, retry_at, last_error, owner, owner_detail, owner_checked_at"
            " from reaper.backends",
        )
