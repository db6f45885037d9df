"""One call of delete(): chunk by chunk, with an outcome for every key, whatever the store does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from reaper.concurrency import map_in
from reaper.model import Failed
from reaper.storage.s3 import errors
from reaper.storage.s3.errors import REQUEST_ERRORS, Kind, Refusal
from reaper.storage.s3.requests import Bucket, Entry

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import DeletedObjectTypeDef, DeleteObjectsOutputTypeDef, ErrorTypeDef

T = TypeVar("T")
R = TypeVar("R")

CHUNK = 1000
# One bad key among 1000 costs ten splits; a store that refuses everything must not cost a thousand.
SPLITS = 50
# What no XML document can contain; one such key would spoil the request for the other 999. A carriage return
# comes back as a line feed from stores that do not escape it, and the key would not be found in the reply.
_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
NOT_MENTIONED = Failed("the reply does not mention the key")
DEADLINE_OVER = Failed("deadline: not tried, the time for this call was over", outage=True)
NO_NAME = Failed("the key is empty", permanent=True)
AMBIGUOUS = Failed(
    "the key contains an empty, . or .. part, which some servers resolve to another key", permanent=True
)


class BatchDelete:
    """Deletes keys chunk by chunk; keeps what failed, and whether further requests make sense."""

    def __init__(
        self, bucket: Bucket, threads: int, deadline: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failed: dict[str, Failed] = {}
        self._bucket = bucket
        self._threads = threads
        self._clock = clock
        self._ends_at = clock() + deadline
        self._stopped: Failed | None = None
        self._splits_left = SPLITS
        self._hidden: list[str] = []

    def delete(self, keys: Iterable[str]) -> None:
        """Delete these keys with all their versions."""
        wanted = [key for key in dict.fromkeys(keys) if self._has_a_name(key)]
        try:
            versioned = self._bucket.is_versioned()
        except REQUEST_ERRORS as error:
            # A plain delete of what may be versioned would hide the bytes and call them gone.
            refusal = errors.of_request(error)
            self._fail([Entry(key) for key in wanted], Failed(refusal.reason, outage=refusal.outage))
            return
        if versioned:
            self._delete_versions(wanted)
        else:
            self._delete_entries([Entry(key) for key in wanted])
        if self._hidden:
            self._bucket.turned_out_versioned()
            self._delete_versions(self._hidden)

    def _has_a_name(self, key: str) -> bool:
        """An empty key must never be sent: DELETE on it is a request to delete the bucket."""
        if not key:
            self.failed[key] = NO_NAME
        return bool(key)

    def _delete_versions(self, keys: Sequence[str]) -> None:
        found = self._side_by_side(self._versions_of, keys)
        self._delete_entries([entry for entries in found for entry in entries])

    def _versions_of(self, key: str) -> Sequence[Entry]:
        halt = self._halt()
        if halt is not None:
            self._fail([Entry(key)], halt)
            return ()
        try:
            return self._bucket.versions_of(key)
        except REQUEST_ERRORS as error:
            self._refused([Entry(key)], errors.of_request(error))
            return ()

    def _delete_entries(self, entries: Sequence[Entry]) -> None:
        for chunk in _chunks([entry for entry in entries if not _NOT_XML.search(entry.key)]):
            if self._bucket.single_deletes:
                self._one_by_one(chunk)
            else:
                self._together(chunk)
        self._one_by_one([entry for entry in entries if _NOT_XML.search(entry.key)])

    def _together(self, chunk: Sequence[Entry]) -> None:
        halt = self._halt()
        if halt is not None:
            self._fail(chunk, halt)
            return
        with_md5 = self._bucket.content_md5
        try:
            reply = self._bucket.delete_together(chunk)
        except REQUEST_ERRORS as error:
            self._cope(chunk, errors.of_request(error), with_md5)
        else:
            self._read(chunk, reply)

    def _cope(self, chunk: Sequence[Entry], refusal: Refusal, with_md5: bool) -> None:
        if refusal.kind is Kind.NO_BATCH:
            self._bucket.single_deletes = True
            self._one_by_one(chunk)
        elif refusal.kind is Kind.NEEDS_MD5 and not with_md5:
            self._bucket.content_md5 = True
            self._together(chunk)
        elif refusal.kind is Kind.BAD_REQUEST:
            self._narrow(chunk, refusal)
        else:
            self._refused(chunk, refusal)

    def _narrow(self, chunk: Sequence[Entry], refusal: Refusal) -> None:
        """Find the key that the store chokes on, so that it fails alone, or is deleted by its URL."""
        if len(chunk) == 1:
            self._one_by_one(chunk)
        elif self._splits_left == 0:
            self._fail(chunk, Failed(refusal.reason))
        else:
            self._splits_left -= 1
            middle = len(chunk) // 2
            self._together(chunk[:middle])
            self._together(chunk[middle:])

    def _read(self, chunk: Sequence[Entry], reply: DeleteObjectsOutputTypeDef) -> None:
        """An entry that the reply does not call deleted has failed; an error weighs more than a success."""
        asked, versioned = {entry.key for entry in chunk}, chunk[0].version is not None
        deleted = [(_named(part, versioned), part) for part in reply.get("Deleted", ())]
        refused = [(_named(part, versioned), _refusal(part)) for part in reply.get("Errors", ())]
        gone = {entry for entry, _ in deleted} | {entry for entry, why in refused if why.kind is Kind.GONE}
        self._fail(set(chunk) - gone, NOT_MENTIONED)
        for entry, part in deleted:
            if entry.key in asked:
                self._note(entry, bool(part.get("DeleteMarker")))
        for entry, refusal in refused:
            if entry.key in asked:
                self._refused([entry], refusal)

    def _note(self, entry: Entry, left_a_marker: bool) -> None:
        if left_a_marker and entry.version is None:
            self._hidden.append(entry.key)

    def _one_by_one(self, entries: Sequence[Entry]) -> None:
        self._side_by_side(self._single, entries)

    def _single(self, entry: Entry) -> None:
        halt = AMBIGUOUS if _is_ambiguous(entry.key) else self._halt()
        if halt is not None:
            self._fail([entry], halt)
            return
        try:
            self._note(entry, left_a_marker=self._bucket.delete_one(entry))
        except REQUEST_ERRORS as error:
            self._refused([entry], errors.of_key(error))

    def _refused(self, entries: Iterable[Entry], refusal: Refusal) -> None:
        failed = Failed(refusal.reason, permanent=refusal.kind is Kind.FOR_GOOD, outage=refusal.outage)
        if refusal.kind is Kind.STOP:
            self._stopped = failed
        if refusal.kind is not Kind.GONE:
            self._fail(entries, failed)

    def _fail(self, entries: Iterable[Entry], failed: Failed) -> None:
        self.failed.update((entry.key, failed) for entry in entries)

    def _halt(self) -> Failed | None:
        """Why no further request may be made."""
        return self._stopped or (DEADLINE_OVER if self._clock() >= self._ends_at else None)

    def _side_by_side(self, do: Callable[[T], R], things: Sequence[T]) -> list[R]:
        if len(things) <= 1:
            return [do(thing) for thing in things]
        with ThreadPoolExecutor(min(self._threads, len(things)), "s3") as pool:
            return map_in(pool, do, things)


def _chunks(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for start in range(0, len(entries), CHUNK):
        yield entries[start : start + CHUNK]


def _named(part: DeletedObjectTypeDef | ErrorTypeDef, versioned: bool) -> Entry:
    """The entry that a part of a reply speaks of; stores differ in how they name a version."""
    version = part.get("VersionId") or part.get("DeleteMarkerVersionId") or "null"
    return Entry(part.get("Key", ""), str(version) if versioned else None)


def _refusal(part: ErrorTypeDef) -> Refusal:
    return errors.in_reply(part.get("Code", ""), part.get("Message", ""))


def _is_ambiguous(key: str) -> bool:
    """In a URL these are resolved by some servers, and would then name another object, perhaps a live one."""
    return any(part in ("", ".", "..") for part in key.split("/"))
