"""What a comparison of database, buckets and cache found."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from reaper.config.backends import DEFAULT_BACKEND
from reaper.queries.checks import Repair, RepairedAccount

# Of each kind of finding so many are kept, and all are counted.
KEPT = 1000

MISSING = "missing object"
ORPHAN = "orphan object"
WRONG_SIZE = "wrong size"
STALE = "stale cache entry"
UNSEEN = "unchecked backend"


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement."""

    kind: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class LostContent:
    """Content whose object is missing on a backend, and the live pastes that need it."""

    content_hash: str
    backend: str
    object_key: str
    live_pastes: int
    examples: list[str]
    # Backends on which rows name a copy that is not known to be bad.
    other_copies: list[str] = field(default_factory=list)


@dataclass
class Report:
    """What was looked at and what was found; of each kind the first are kept, and all are counted."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    lost: list[LostContent] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    repaired: list[Repair] = field(default_factory=list)
    repaired_accounts: list[RepairedAccount] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether all agree."""
        return not self.counts

    def as_dict(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "clean": self.clean,
            "counts": dict(self.counts),
            "findings": [asdict(finding) for finding in self.findings],
            "lost": [asdict(lost) for lost in self.lost],
            "repaired": [asdict(repair) for repair in self.repaired],
            "repaired_accounts": [
                {**asdict(account), "was": int(account.was), "now": int(account.now)}
                for account in self.repaired_accounts
            ],
            "seen": dict(self.seen),
            "notes": self.notes,
        }

    def add(self, kind: str, subject: str, detail: str) -> None:
        """Note a disagreement."""
        self.counts[kind] += 1
        if self.counts[kind] <= KEPT:
            self.findings.append(Finding(kind, subject, detail))

    def add_lost(self, lost: LostContent) -> None:
        """Note content without its object."""
        named = f" ({', '.join(lost.examples)})" if lost.examples else ""
        hit = f"the content of {lost.live_pastes} live pastes{named}"
        others = f"; other copies lie on {', '.join(lost.other_copies)}" if lost.other_copies else ""
        self.add(MISSING, place(lost.backend, lost.object_key), f"{lost.content_hash}, {hit}{others}")
        if self.counts[MISSING] <= KEPT:
            self.lost.append(lost)


def place(backend: str, key: str) -> str:
    """An object's name for people: the backend is left out where it is the default one."""
    return key if backend == DEFAULT_BACKEND else f"{key} on {backend}"
