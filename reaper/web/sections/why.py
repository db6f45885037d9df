"""Why: a code or a hash, to be asked for its story on a page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section


def ask(_: Look) -> Mapping[str, Any]:
    """Nothing is asked before a person asks."""
    return {}


SECTION = Section("why", "Why", ask, every=SELDOM)
