"""What failed outside PostgreSQL, as the finish functions take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reaper.model import Failed, ObjectRef

Failures = Sequence[dict[str, Any]]


def object_failures(
    objects: Sequence[ObjectRef], failed: Mapping[tuple[str, str], Failed]
) -> list[dict[str, Any]]:
    """The objects that failed, as finish_batch and finish_cleanup take them."""
    return [
        {
            "backend": o.backend,
            "object_key": o.object_key,
            "error": why.error,
            "permanent": why.permanent,
            "outage": why.outage,
        }
        for o in objects
        if (why := failed.get((o.backend, o.object_key)))
    ]


def code_failures(failed: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cache entries that failed, as finish_batch and finish_invalidations take them."""
    return [{"short_code": code, "error": error} for code, error in failed.items()]
