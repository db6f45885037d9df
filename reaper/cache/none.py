"""What stands in for Redis where there is none: without REAPER_REDIS_URL nothing is cached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from reaper.model import CacheRead, UsageRow


class NoCache:
    """A Cache that has no entries."""

    def forget(self, codes: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """There is nothing to drop."""
        return {}

    def drop(self, codes: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
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


class NoPasteCache:
    """A PasteCache that keeps nothing."""

    def read(self, code: str) -> CacheRead:  # noqa: ARG002
        """No entry, and no ticket to fill one."""
        return CacheRead(None, None)

    def fill(self, code: str, data: bytes, ticket: int, remaining_ms: int | None) -> bool:  # noqa: ARG002
        """Keep nothing."""
        return False

    def drop(self, code: str) -> bool:  # noqa: ARG002
        """There is nothing to drop."""
        return True


class NoClaimLock:
    """A ClaimLock that is always free."""

    def hold(self) -> AbstractContextManager[bool]:
        """Hold it at once."""
        return nullcontext(True)


class NoUsageBoard:
    """A UsageBoard on which nothing is written."""

    def publish(self, rows: Sequence[UsageRow], now: datetime) -> bool:  # noqa: ARG002
        """There is nobody to be told."""
        return True

    def read(self) -> Sequence[UsageRow]:
        """Nothing."""
        return ()

    def forget(self, before: datetime) -> int:  # noqa: ARG002
        """There is nothing to forget."""
        return 0
