"""What a service does now, and whether it may be run by hand."""

from __future__ import annotations

from enum import Enum

from reaper.errors import BadArgument, ServicePaused
from reaper.queries import Ask, Queries
from reaper.queries.services import ServiceState


class Phase(Enum):
    """What a service does between its runs."""

    OFF = "off"
    PAUSED = "paused"
    UNPLANNED = "unplanned"
    DUE = "due"
    WAITING = "waiting"


def phase(service: ServiceState) -> Phase:
    """What the service does now."""
    if not service.enabled:
        return Phase.OFF
    if service.is_paused:
        return Phase.PAUSED
    if service.next_run_at is None:
        return Phase.UNPLANNED
    return Phase.DUE if service.next_run_at <= service.now else Phase.WAITING


def require_runnable(q: Queries, name: str, despite_pause: bool = False) -> None:
    """Refuse a service that is not in the schedule, and one that is paused unless that is meant."""
    services = {service.name for service in q.schedule()}
    if name not in services:
        raise BadArgument(f"there is no service {name!r}", f"Known services: {', '.join(sorted(services))}")
    if not despite_pause:
        require_no_pause(lambda question: question(q), name)


def require_no_pause(ask: Ask, name: str) -> None:
    """Refuse a paused service, with who paused it, until when and why."""
    if pause := ask(lambda q: q.pause_of(name)):
        raise paused(pause, name)


def paused(pause: str, name: str) -> ServicePaused:
    """The refusal of a command, with what to do about it."""
    return ServicePaused(
        pause, f"Resume it (reaper service resume {name}), or run it all the same with --despite-pause."
    )
