"""Policies: what goes from any table when it is too old, and what would stop the next purge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section

_SHOWN = 100


def ask(look: Look) -> Mapping[str, Any]:
    """Every policy; those with problems first."""
    policies = sorted(look.q.policies(), key=lambda policy: (not policy.problems, policy.name))
    return {"policies": policies[:_SHOWN], "more": len(policies[_SHOWN:])}


def _with_problems(shown: Mapping[str, Any]) -> int:
    return sum(bool(policy.problems) for policy in shown["policies"])


SECTION = Section("policies", "Policies", ask, _with_problems, SELDOM)
