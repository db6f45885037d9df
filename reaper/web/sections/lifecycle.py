"""Lifecycle: rules by which pastes become due. Nothing is asked of them yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section


def ask(_: Look) -> Mapping[str, Any]:
    """Nothing: this release has no rules."""
    return {}


SECTION = Section("lifecycle", "Lifecycle", ask, every=SELDOM)
