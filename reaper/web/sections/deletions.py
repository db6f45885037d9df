"""Deletions: what waits in the queues by cause and age, and what was given up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reaper.web.section import SELDOM, Look, Section

# Of each group of the DLQ so many are counted.
COUNTED = 10_000


def ask(look: Look) -> Mapping[str, Any]:
    """The cleanup queue and the DLQ, each from a bounded look."""
    return {
        "waiting": look.q.waiting_deletions(),
        "given_up": look.q.dlq_causes(COUNTED),
        "counted": COUNTED,
        "objects_queued": look.status.health.objects_queued,
        "invalidations": look.status.health.invalidations_queued,
    }


SECTION = Section("deletions", "Deletions", ask, lambda shown: len(shown["given_up"]), SELDOM)
