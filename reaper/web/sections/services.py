"""Services: when each runs, how its last run ended, when it runs next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.ops.service_phase import phase
from reaper.web.section import Look, Section


def ask(look: Look) -> Mapping[str, Any]:
    """The schedule; those that failed first, then by name."""
    services = sorted(look.status.schedule, key=lambda service: (not service.last_error, service.name))
    return {"services": [(service, phase(service).value) for service in services]}


def _failing(shown: Mapping[str, Any]) -> int:
    return sum(bool(service.last_error) for service, _ in shown["services"])


SECTION = Section("services", "Services", ask, _failing)
