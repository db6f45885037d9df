"""Every SQL function that Python calls, one typed method each: the only place that names them.

One module per folder of sql/functions; `status` reads the views, `login_and_sessions` asks the server itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from reaper.queries.backends import Backends
from reaper.queries.checks import Checks
from reaper.queries.circuits import Circuits
from reaper.queries.cleanup import Cleanup
from reaper.queries.clock import Clock
from reaper.queries.copies import Copies
from reaper.queries.dlq import Dlq
from reaper.queries.doors import Doors
from reaper.queries.expiry import Expiry
from reaper.queries.integrity import Integrity
from reaper.queries.intents import Intents
from reaper.queries.jobs import Jobs
from reaper.queries.lifecycle import Lifecycle
from reaper.queries.login_and_sessions import LoginAndSessions
from reaper.queries.multipart import Multipart
from reaper.queries.notifications import Notifications
from reaper.queries.overview import Overview
from reaper.queries.ownership import Ownership
from reaper.queries.retention import Retention
from reaper.queries.services import Services
from reaper.queries.standby import Standby
from reaper.queries.state import State
from reaper.queries.status import Status
from reaper.queries.unreferenced import Unreferenced
from reaper.queries.usage import Usage
from reaper.queries.watchdog import Watchdog
from reaper.queries.why import Why

T = TypeVar("T")


class Queries(
    Backends,
    Checks,
    Circuits,
    Cleanup,
    Clock,
    Copies,
    Dlq,
    Doors,
    Expiry,
    Integrity,
    Intents,
    Jobs,
    Lifecycle,
    Retention,
    LoginAndSessions,
    Notifications,
    Multipart,
    Overview,
    Ownership,
    Services,
    Standby,
    State,
    Status,
    Unreferenced,
    Usage,
    Watchdog,
    Why,
):
    """All areas on one connection."""


class Ask(Protocol):
    """Puts one question, again where that can help; a session's or a pool's `call`."""

    def __call__(self, question: Callable[[Queries], T], /) -> T:
        """The answer."""
