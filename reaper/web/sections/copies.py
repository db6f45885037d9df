"""Copies and integrity: wants, coverage, corrupt copies. Nothing is asked of them yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section


def ask(_: Look) -> Mapping[str, Any]:
    """Nothing: this release keeps one copy of each content."""
    return {}


SECTION = Section("copies", "Copies and integrity", ask, every=SELDOM)
