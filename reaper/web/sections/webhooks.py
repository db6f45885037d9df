"""Webhooks: the lane of each, why it waits, and what was given up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.ops.webhook_phase import is_in_trouble, phase
from reaper.web.section import SELDOM, Look, Section

_SHOWN = 100


def ask(look: Look) -> Mapping[str, Any]:
    """Every lane; those in trouble first."""
    lanes = sorted(look.q.webhooks(), key=lambda lane: (not is_in_trouble(lane), lane.name))
    return {"lanes": [(lane, phase(lane).value) for lane in lanes[:_SHOWN]], "more": len(lanes[_SHOWN:])}


def _troubled(shown: Mapping[str, Any]) -> int:
    return sum(is_in_trouble(lane) for lane, _ in shown["lanes"])


SECTION = Section("webhooks", "Webhooks", ask, _troubled, SELDOM)
