"""Needs you: every reason of the verdict with its remedy, and the order that follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reaper.ops.status import Status
from reaper.web.section import Look, Section

# Where a reason is explained, by the words that only it has.
_PLACES = (
    (re.compile(r"reaper dlq "), "deletions"),
    (re.compile(r"reaper webhook "), "webhooks"),
    (re.compile(r"no good copy left|^comparison of|^reading of"), "copies"),
    (re.compile(r"reaper\.unblock\(\)"), "blocked"),
    (re.compile(r"reaper backend |[Cc]ircuit|^backend "), "backends"),
    (re.compile(r"reaper service |services? "), "services"),
    (re.compile(r"reaper policy "), "policies"),
    (re.compile(r"[Ww]orker"), "workers"),
)
# A sentence that tells what to do begins so.
_REMEDY = re.compile(
    r"(?<=[.;)\w]) +"
    r"(?=(?:[Ss]ee|Run|Start|Check|Remove|Resume|Set|Close|Raise|Give|Bind|Grant|Free|End|If)\b)"
)


@dataclass(frozen=True)
class Need:
    """What is wrong, what to do about it, and which section has more."""

    problem: str
    remedy: str | None
    place: str | None


def ask(look: Look) -> Mapping[str, Any]:
    """The reasons, as PostgreSQL words them."""
    return {"needs": [_need(reason) for reason in look.status.health.reasons], "paused": _paused(look.status)}


def _need(reason: str) -> Need:
    problem, *remedy = _REMEDY.split(reason, maxsplit=1)
    place = next((name for words, name in _PLACES if words.search(reason)), None)
    problem = problem.rstrip(" ;")
    return Need(_sentence(problem), _sentence(remedy[0]) if remedy else None, place)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _paused(status: Status) -> list[str]:
    return [service.name for service in status.schedule if service.is_paused]


SECTION = Section("needs", "Needs you", ask, lambda shown: len(shown["needs"]))
