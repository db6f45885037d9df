"""Backends: bytes of the quota, circuit, whose the bucket is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.queries.backends import BackendState
from reaper.web import charts
from reaper.web.section import Look, Section


def ask(look: Look) -> Mapping[str, Any]:
    """Every backend, with a bar of its quota."""
    return {"backends": [(backend, _bar(backend)) for backend in look.status.backends]}


def _bar(backend: BackendState) -> str | None:
    if not backend.quota:
        return None
    parts = (backend.bytes_used, backend.orphan_bytes, backend.reserved_bytes)
    return charts.quota_bar(backend.name, parts, backend.quota)


def _troubled(shown: Mapping[str, Any]) -> int:
    return sum(backend.circuit != "closed" or backend.owner == "other" for backend, _ in shown["backends"])


SECTION = Section("backends", "Backends", ask, _troubled)
