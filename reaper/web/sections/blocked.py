"""Blocked rows: why PostgreSQL refuses to delete pastes, and the SQL that mends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section

# As many causes as blocked_causes() names.
MOST = 50


def ask(look: Look) -> Mapping[str, Any]:
    """The causes, from a bounded look."""
    causes = look.q.blocked_causes()
    return {"causes": causes, "more": len(causes) >= MOST, "rows": look.status.health.rows_blocked}


SECTION = Section("blocked", "Blocked rows", ask, lambda shown: len(shown["causes"]), SELDOM)
