"""What must be true, what ought to lie where, and setting counts right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from reaper.model import ObjectRef
from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must be true and is not."""

    invariant: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """An object that a content row names."""

    object_key: str
    size_bytes: int | None
    content_hash: str


@dataclass(frozen=True, slots=True)
class KnownObject:
    """What PostgreSQL knows about a key: it is content, or its deletion is owed."""

    object_key: str
    place: str
    content_hash: str | None
    size_bytes: int | None

    @property
    def is_content(self) -> bool:
        """Whether its object must be there."""
        return self.place == "content"


@dataclass(frozen=True, slots=True)
class Repair:
    """A ref_count that was set to the number of paste rows."""

    content_hash: str
    was: int | None
    now: int


@dataclass(frozen=True, slots=True)
class RepairedAccount:
    """A backend's byte account that was set to what the rows behind it say."""

    backend: str
    kind: str
    was: Decimal
    now: Decimal


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One check of the database's doctor: ok, warn or fail, and what to do."""

    name: str
    verdict: str
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """What the last batches did; without any run there is no speed."""

    batches: int
    rows_deleted: int
    bytes_freed: int
    seconds: Decimal
    rows_per_second: Decimal | None


@dataclass(frozen=True, slots=True)
class KeyBinding:
    """The bound content table, and whether objects lie under its keys: None = not known yet."""

    table: str
    confirmed: bool | None
    bound_at: datetime


class Checks(Area):
    """What must be true, and what ought to lie where."""

    @reads
    def check_invariants(self) -> Iterator[Violation]:
        """What is not as it must be inside PostgreSQL; there may be as many as there are rows."""
        return self._db.stream(Violation, "select * from reaper.check_invariants()")

    @reads
    def diagnoses(self) -> list[Diagnosis]:
        """What PostgreSQL says about tables, settings and rights."""
        return [
            diagnosis
            for topic in ("tables", "own_tables", "settings", "rights")
            for diagnosis in self._db.all(Diagnosis, f"select * from reaper.diagnose_{topic}()")
        ]

    @reads
    def expected_objects(self, after: str, limit: int, backend: str) -> list[ExpectedObject]:
        """The next objects that ought to lie on a backend, in byte order."""
        return self._db.all(
            ExpectedObject, "select * from reaper.expected_objects(%s, %s, %s)", after, limit, backend
        )

    @reads
    def queue_counts(self) -> dict[str, int]:
        """How many deletions are queued or in the DLQ, and how many puts are pending, by kind."""
        return {row[0]: row[1] for row in self._db.tuples("select what, number from reaper.queue_counts()")}

    @reads
    def known_objects(self, backend: str, keys: Sequence[str]) -> dict[str, KnownObject]:
        """Where PostgreSQL knows these keys from; a key that is missing in the answer is unknown."""
        query = "select object_key, place, content_hash, size_bytes from reaper.known_objects(%s, %s)"
        found: dict[str, KnownObject] = {}
        for known in self._db.all(KnownObject, query, backend, list(keys)):
            # Stored content comes first and weighs more than a deletion that is owed.
            found.setdefault(known.object_key, known)
        return found

    @reads
    def live_pastes(self, hashes: Sequence[str]) -> dict[str, tuple[int, list[str]]]:
        """How many readable pastes each content has, and the first codes."""
        query = "select content_hash, pastes, examples from reaper.live_pastes(%s)"
        return {row[0]: (row[1], row[2]) for row in self._db.tuples(query, list(hashes))}

    @reads
    def check_cached(self, codes: Sequence[str]) -> dict[str, str]:
        """What becomes of the cache entries of these codes."""
        query = "select short_code, judgement from reaper.check_cached(%s)"
        return {row[0]: row[1] for row in self._db.tuples(query, list(codes))}

    @reads
    def key_binding(self) -> KeyBinding | None:
        """What is known of the object keys; None where no table is bound."""
        return self._db.one(
            KeyBinding,
            'select bound_table as "table", keys_confirmed as confirmed, bound_at from reaper.key_binding()',
        )

    @reads
    def sample_keys(self, limit: int) -> list[ObjectRef]:
        """Objects to look for, by chance; those that reaper stored itself are not among them."""
        query = "select content_hash, backend, object_key, size_bytes from reaper.sample_keys(%s)"
        return list(map(ObjectRef._make, self._db.tuples(query, limit)))

    @commits
    def record_key_check(
        self, looked: int, found: int, example: str | None, bound_at: datetime
    ) -> bool | None:
        """Let PostgreSQL decide from a look whether the keys are right; None where it is not known yet."""
        query = "select reaper.record_key_check(%s, %s, %s, %s)"
        confirmed: bool | None = self._db.value(query, looked, found, example, bound_at)
        return confirmed

    @commits
    def repair_counts(self, limit: int) -> list[Repair]:
        """Set the next wrong ref_counts right; none when all are."""
        return self._db.all(Repair, "select * from reaper.repair_counts(%s)", limit)

    @commits
    def repair_accounts(self) -> list[RepairedAccount]:
        """Set wrong byte accounts right."""
        return self._db.all(RepairedAccount, "select * from reaper.repair_accounts()")

    @reads
    def backends_in_use(self) -> list[str]:
        """The backends on which something lies, or is owed or announced, whatever is configured here."""
        return [row[0] for row in self._db.tuples("select backend from reaper.backends_in_use()")]

    @reads
    def recent_speed(self) -> Speed:
        """How fast the last batches went."""
        return self._db.only(Speed, "select * from reaper.recent_speed()")
