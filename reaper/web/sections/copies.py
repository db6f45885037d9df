"""Copies and integrity: what wants copies, which are bad, how much of each backend was compared and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section

# So many bad copies without a good one are named.
_NAMED = 10


def ask(look: Look) -> Mapping[str, Any]:
    """Wants, bad copies and coverage, each from a bounded look."""
    sole = look.q.sole_bad_copies(_NAMED + 1)
    return {
        "progress": look.q.copy_progress(),
        "wanted": look.q.wanted_copies(),
        "bad": look.q.bad_copies(),
        "sole": sole[:_NAMED],
        "more": len(sole) > _NAMED,
        "coverage": look.q.coverage(),
    }


def _troubled(shown: Mapping[str, Any]) -> int:
    named = len(shown["sole"])
    nowhere = sum(bool(want.fits_nowhere) for want in shown["wanted"])
    stopped = sum(bool(each.brake_reason or each.scrub_brake) for each in shown["coverage"])
    return named + nowhere + stopped


SECTION = Section("copies", "Copies and integrity", ask, _troubled, SELDOM)
