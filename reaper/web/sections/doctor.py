"""Doctor: what the last examination found to warn of. It is made on a page of its own, when a person asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section


def ask(look: Look) -> Mapping[str, Any]:
    """The last examination of this process, if there was one."""
    examined = look.kept.get("doctor")
    return {"examined": examined} if examined else {}


def _found(shown: Mapping[str, Any]) -> int:
    return sum(each.verdict != "ok" for each in shown["examined"].found) if shown else 0


SECTION = Section("doctor", "Doctor", ask, _found, SELDOM)
