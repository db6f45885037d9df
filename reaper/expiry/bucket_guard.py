"""What a drain asks before it releases rows: whether the objects of these rows may be deleted."""

from __future__ import annotations

from typing import Protocol


class BucketGuard(Protocol):
    """Raises ForeignBucket where the buckets belong to another installation."""

    def compare(self) -> None:
        """Asked before a drain begins; may ask the buckets."""

    def recall(self) -> None:
        """Asked before each claim: the same by what is known already."""


class AnyBucket:
    """Lets every drain begin."""

    def compare(self) -> None:
        """All is well."""

    def recall(self) -> None:
        """All is well."""
