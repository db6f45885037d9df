"""Backends: quota, circuit, whose the bucket is, use of this month, what a drained one still has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from reaper.queries.backends import BackendState
from reaper.queries.usage import MonthlyUsage
from reaper.web import charts
from reaper.web.section import Look, Section

# Of what a draining backend has, each kind is counted so far.
COUNTED = 10_000


def ask(look: Look) -> Mapping[str, Any]:
    """Every backend, with a bar of its quota; use, bad copies and remains less often."""
    slow = look.seldom("backends", _seldom)
    return {**slow, "backends": [(backend, _bar(backend)) for backend in look.status.backends]}


def _seldom(look: Look) -> dict[str, Any]:
    month = look.now.astimezone(UTC).date().replace(day=1)
    return {
        "usage": {used.backend: _shares(used) for used in look.q.usage(month)},
        "remains": look.q.draining_backends(COUNTED),
        "bad": look.q.bad_copies(),
        "counted": COUNTED,
    }


def _shares(used: MonthlyUsage) -> list[tuple[str, int, int | None]]:
    """What was used of which limit."""
    return [
        ("requests", used.requests, used.monthly_requests),
        ("in", used.ingress, used.monthly_ingress),
        ("out", used.egress, used.monthly_egress),
    ]


def _bar(backend: BackendState) -> str | None:
    if not backend.quota:
        return None
    parts = (backend.bytes_used, backend.orphan_bytes, backend.reserved_bytes)
    return charts.quota_bar(backend.name, parts, backend.quota)


def _troubled(shown: Mapping[str, Any]) -> int:
    return sum(backend.circuit != "closed" or backend.owner == "other" for backend, _ in shown["backends"])


SECTION = Section("backends", "Backends", ask, _troubled)
