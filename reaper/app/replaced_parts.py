"""What demo and tests put in place of what the settings say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from reaper.db.reconnecting_session import Session
from reaper.expiry.side_effects import SideEffects
from reaper.ports import Cache, ClaimLock, ObjectStore, PasteCache, Webhooks
from reaper.queries import Queries
from reaper.queries.base import Intercept, directly
from reaper.telemetry.events import Telemetry

P = TypeVar("P")


def as_it_is(_kind: str, port: P) -> P:
    """The port, with nothing around it."""
    return port


@dataclass(frozen=True)
class Parts:
    """What is used instead of what the settings say; demo and tests give some."""

    buckets: Mapping[str, ObjectStore] | None = None
    # In place of the buckets behind their circuits.
    stores: Mapping[str, ObjectStore] | None = None
    cache: Cache | None = None
    paste_cache: PasteCache | None = None
    claim_lock: ClaimLock | None = None
    webhooks: Webhooks | None = None
    settle_session: Session[Queries] | None = None
    settle_slot: str = "settle:0"
    # What tells the database from all others, instead of asking it.
    identity: str | None = None
    side_effects: SideEffects | None = None
    telemetry: Telemetry | None = None
    # Around each store, outside of its circuit.
    wrap_store: Callable[[str, Any], Any] = as_it_is
    # Around every question to PostgreSQL, and around every port.
    intercept: Intercept = directly
    around: Callable[[str, Any], Any] = as_it_is
