"""What the comparison of buckets and rows found: passes, suspects, objects that no row names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over a backend that has not ended, and where it stands."""

    backend: str
    id: UUID
    phase: str
    after_key: str
    untracked: str


@dataclass(frozen=True, slots=True)
class Window:
    """A window of a listing, compared: from `after` to `until`, or to the end of the bucket."""

    after: str
    until: str | None
    listed: int
    expected: int
    missing: Mapping[str, str]
    unknown: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Untracked:
    """An object that no row names."""

    object_key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of names that were retired for a deletion."""

    queued: int
    in_use: int
    waiting: int


@dataclass(frozen=True, slots=True)
class UntrackedSummary:
    """What lies untracked on a backend, by the shape of its keys."""

    backend: str
    shape: str
    objects: int
    bytes: Decimal
    old_objects: int
    old_bytes: Decimal
    example: str


@dataclass(frozen=True, slots=True)
class CopyToScrub:
    """A copy to read; `sha256` says whether its content's hash is that of the bytes."""

    content_hash: str
    object_key: str
    size_bytes: int | None
    sha256: bool
    size_is_ours: bool
    is_due: bool


@dataclass(frozen=True, slots=True)
class ScrubPosition:
    """Where the scrubber stands on a backend, and how many bytes it may read today; None = no limit."""

    after_key: str
    bytes_left: int | None


@dataclass(frozen=True, slots=True)
class BackendIntegrity:
    """How well a backend is known; the view reaper.integrity."""

    backend: str
    untracked: str
    phase: str
    began_at: datetime | None
    finished_at: datetime | None
    listed: int
    expected: int
    missing: int
    unknown: int
    brake_reason: str | None
    copies: int | None
    share_verified: Decimal | None
    oldest_verified: datetime | None
    counted_at: datetime | None
    untracked_objects: int
    scrub_brake: str | None


class Integrity(Area):
    """What the comparison of buckets and rows found: passes, suspects, objects that no row names."""

    @commits
    def begin_reconciliation(self, backends: Sequence[str]) -> list[Pass]:
        """The passes to go on with; new ones where none is open."""
        query = "select backend, pass as id, phase, after_key, untracked from reaper.begin_reconciliation(%s)"
        return self._db.all(Pass, query, list(backends))

    @commits
    def record_listed(self, work: Pass, window: Window) -> str:
        """Record a window: 'listing', 'settling' or 'braked'; ClaimLost where another process went on."""
        return str(
            self._db.value(
                "select reaper.record_listed(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                *(work.backend, work.id, window.after, window.until, window.listed, window.expected),
                *(list(window.missing), list(window.missing.values())),
                *(list(window.unknown), list(window.unknown.values())),
            )
        )

    @commits
    def record_own_objects(
        self, work: Pass, hashes: Sequence[str], keys: Sequence[str], sizes: Sequence[int]
    ) -> int:
        """Write down the copies that the application stored itself; how many had no row."""
        return int(
            self._db.value(
                "select reaper.record_own_objects(%s, %s, %s, %s, %s)",
                *(work.backend, work.id, list(hashes), list(keys), list(sizes)),
            )
        )

    @commits
    def record_settled(self, work: Pass, after: str) -> None:
        """Record up to which untracked object a pass has acted; ClaimLost where another process went on."""
        self._db.value("select reaper.record_settled(%s, %s, %s)", work.backend, work.id, after)

    @reads
    def suspects_due(self, backend: str, work: UUID | None, limit: int) -> dict[str, str]:
        """Key and content of the copies that are to be looked for a second time."""
        query = "select object_key, content_hash from reaper.suspects_due(%s, %s, %s)"
        return {row[0]: row[1] for row in self._db.tuples(query, backend, work, limit)}

    @commits
    def suspect_missing(self, content_hash: str, backend: str, object_key: str) -> str:
        """Say that a copy was not found: 'suspected', or what report_copy says."""
        return str(
            self._db.value("select reaper.suspect_missing(%s, %s, %s)", content_hash, backend, object_key)
        )

    @commits
    def delete_suspects(self, backend: str, keys: Sequence[str]) -> int:
        """Say that copies were found after all."""
        return int(self._db.value("select reaper.delete_suspects(%s, %s)", backend, list(keys)))

    @reads
    def untracked_objects(
        self, backend: str, older_than: timedelta, after: str, limit: int
    ) -> list[Untracked]:
        """The next untracked objects that are old enough, in key order."""
        return self._db.all(
            Untracked,
            "select * from reaper.untracked_objects(%s, %s, %s, %s)",
            *(backend, older_than, after, limit),
        )

    @commits
    def retire_untracked(self, backend: str, keys: Sequence[str], older_than: timedelta) -> int:
        """Retire the names of untracked objects; how many can be deleted."""
        return int(
            self._db.value("select reaper.retire_untracked(%s, %s, %s)", backend, list(keys), older_than)
        )

    @commits
    def finish_untracked(self, limit: int) -> Finished:
        """Queue what was retired, as far as no open transaction can name it any more."""
        return self._db.only(Finished, "select * from reaper.finish_untracked(%s)", limit)

    @commits
    def import_object(self, backend: str, object_key: str, content_hash: str, size: int) -> str:
        """Take an object in whose digest was read: 'imported', 'refused' or 'gone'."""
        return str(
            self._db.value(
                "select reaper.import_object(%s, %s, %s, %s)", backend, object_key, content_hash, size
            )
        )

    @commits
    def finish_reconciliation(self, work: Pass, figures: Mapping[str, int]) -> None:
        """End a pass and keep its figures."""
        self._db.value(
            "select reaper.finish_reconciliation(%s, %s, %s)", work.backend, work.id, Jsonb(dict(figures))
        )

    @commits
    def set_untracked(self, backend: str, action: str, reason: str | None) -> None:
        """Choose what happens to untracked objects: report, import or delete."""
        self._db.value("select reaper.set_untracked(%s, %s, %s)", backend, action, reason)

    @reads
    def copies_to_scrub(self, content_hash: str) -> list[tuple[str, str | None, CopyToScrub]]:
        """All copies of a content: the backend, the trouble that is recorded, and what to compare."""
        query = (
            "select backend, trouble, content_hash, object_key, size_bytes, sha256, size_is_ours, true"
            " from reaper.copies_to_scrub(%s)"
        )
        return [(row[0], row[1], CopyToScrub(*row[2:])) for row in self._db.tuples(query, content_hash)]

    @reads
    def scrub_position(self, backend: str) -> ScrubPosition:
        """Where the scrubber stands on a backend."""
        return self._db.only(ScrubPosition, "select * from reaper.scrub_position(%s)", backend)

    @reads
    def scrub_page(self, backend: str, after: str, limit: int) -> list[CopyToScrub]:
        """The next copies of a backend, in the order of their keys."""
        return self._db.all(CopyToScrub, "select * from reaper.scrub_page(%s, %s, %s)", backend, after, limit)

    @reads
    def scrub_brake(self, backend: str, looked: int, bad: int) -> str | None:
        """Why the scrubber is to stop; None if it is not."""
        reason: str | None = self._db.value("select reaper.scrub_brake(%s, %s, %s)", backend, looked, bad)
        return reason

    @commits
    def record_verified(self, backend: str, copies: Sequence[CopyToScrub]) -> int:
        """Record that these copies have the right bytes."""
        hashes, keys = [copy.content_hash for copy in copies], [copy.object_key for copy in copies]
        return int(self._db.value("select reaper.record_verified(%s, %s, %s)", backend, hashes, keys))

    @commits
    def record_scrubbed(
        self, backend: str, after: str, looked: int, bad: int, size: int, brake: str | None
    ) -> None:
        """Record how far the scrubber has read, or why it stopped."""
        self._db.value(
            "select reaper.record_scrubbed(%s, %s, %s, %s, %s, %s)", backend, after, looked, bad, size, brake
        )

    @commits
    def record_digest_sample(self, looked: int, matched: int) -> bool:
        """Say how many of the objects that were read have the SHA-256 that their hash says."""
        return bool(self._db.value("select reaper.record_digest_sample(%s, %s)", looked, matched))

    @reads
    def untracked_summary(self, older_than: timedelta) -> list[UntrackedSummary]:
        """What lies untracked on each backend, by the shape of its keys."""
        return self._db.all(UntrackedSummary, "select * from reaper.untracked_summary(%s)", older_than)

    @reads
    def integrity(self) -> list[BackendIntegrity]:
        """How well each backend is known."""
        return self._db.all(
            BackendIntegrity,
            "select backend, untracked, phase, began_at, finished_at, listed, expected, missing, unknown,"
            " brake_reason, copies, share_verified, oldest_verified, counted_at, untracked_objects,"
            " scrub_brake from reaper.integrity",
        )
