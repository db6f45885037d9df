"""What stands in for Redis where there is none: without REAPER_REDIS_URL nothing is cached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext


class NoCache:
    """A Cache that has no entries."""

    def forget(self, codes: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """There is nothing to drop."""
        return {}

    def present(self, codes: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """None of them."""
        return ()

    def codes(self) -> Iterator[Sequence[str]]:
        """No page at all."""
        return iter(())

    def check(self) -> None:
        """Nothing can be wrong with it."""


class NoLock:
    """A ClaimLock for which nobody competes."""

    def hold(self) -> AbstractContextManager[bool]:
        """Hold it at once."""
        return nullcontext(True)
