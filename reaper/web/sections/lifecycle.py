"""Lifecycle: rules by which pastes become due, and what their last pass did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section

_SHOWN = 100


def ask(look: Look) -> Mapping[str, Any]:
    """Every rule; those that could not be applied first."""
    rules = sorted(look.q.lifecycle_rules(), key=lambda rule: (not rule.problems, rule.name))
    return {"rules": rules[:_SHOWN], "more": len(rules[_SHOWN:])}


def _stopped(shown: Mapping[str, Any]) -> int:
    return sum(bool(rule.enabled and rule.problems) for rule in shown["rules"])


SECTION = Section("lifecycle", "Lifecycle", ask, _stopped, SELDOM)
