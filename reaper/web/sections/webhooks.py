"""Webhooks: lanes, failures, what was given up. Nothing is asked of them yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section


def ask(_: Look) -> Mapping[str, Any]:
    """Nothing: this release tells nobody outside."""
    return {}


SECTION = Section("webhooks", "Webhooks", ask, every=SELDOM)
