"""Audit: who changed what, and why; the last of it, with all of it on a page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section

_SHOWN = 8


def ask(look: Look) -> Mapping[str, Any]:
    """The newest entries."""
    return {"entries": look.q.audit(None, _SHOWN)}


SECTION = Section("audit", "Audit", ask, every=SELDOM)
