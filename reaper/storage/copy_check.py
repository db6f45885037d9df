"""Whether an object is what its row says: read, hashed, and, where it is not, read once more."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from reaper.errors import ContentLost
from reaper.model import StoredDigest
from reaper.ports import ObjectStore
from reaper.queries import Ask
from reaper.queries.integrity import CopyToScrub


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a copy turned out to be: good, missing or corrupt; `lied` where only the first look was bad."""

    copy: CopyToScrub
    outcome: str
    size: int = 0
    detail: str = ""
    lied: bool = False
    sha256: str = ""


def check(store: ObjectStore, copy: CopyToScrub) -> Verdict:
    """Look at a copy; a bad answer counts only if a second, fresh one is bad as well."""
    first = _look(store, copy)
    if first.outcome == "good":
        return first
    second = _look(store, copy)
    if second.outcome == "good":
        return Verdict(copy, "good", first.size + second.size, lied=True, sha256=second.sha256)
    if first.outcome != second.outcome:
        return Verdict(copy, "unsure", first.size + second.size, f"{first.detail}; then {second.detail}")
    return Verdict(copy, second.outcome, first.size + second.size, second.detail)


def _look(store: ObjectStore, copy: CopyToScrub) -> Verdict:
    try:
        found = digest(store, copy.object_key)
    except ContentLost as error:
        return Verdict(copy, "corrupt", detail=error.message)
    if found is None:
        return Verdict(copy, "missing", detail="there is no such object")
    wrong = _difference(copy, found)
    return Verdict(copy, "corrupt" if wrong else "good", found.size, wrong, sha256=found.sha256)


def digest(store: ObjectStore, key: str) -> StoredDigest | None:
    """Read in pieces, each with the timeouts of its own request, and never more than one in memory."""
    reading = store.read(key)
    if reading is None:
        return None
    size, sha256 = 0, hashlib.sha256()
    for piece in reading.pieces:
        size += len(piece)
        sha256.update(piece)
    return StoredDigest(size, sha256.hexdigest())


def _difference(copy: CopyToScrub, found: StoredDigest) -> str:
    if copy.sha256 and found.sha256 != copy.content_hash.lower():
        return f"{found.size:,} bytes with SHA-256 {found.sha256}"
    # An application's own size may be one from before it compressed or encrypted the bytes.
    if copy.size_is_ours and copy.size_bytes is not None and found.size != copy.size_bytes:
        return f"{found.size:,} bytes are stored, {copy.size_bytes:,} were"
    return ""


def named_and_absent(ask: Ask, store: ObjectStore, backend: str, keys: Sequence[str]) -> list[str]:
    """Those of these keys that are absent, named by content after that, and then absent once more.

    An object comes before its row and goes after it, so what is stored or released meanwhile is not among
    them, even where it is stored again under the name that it had.
    """
    absent = _absent(store, keys)
    known = ask(lambda q: q.known_objects(backend, absent)) if absent else {}
    return _absent(store, [key for key in absent if key in known and known[key].is_content])


def _absent(store: ObjectStore, keys: Sequence[str]) -> list[str]:
    found = store.find(keys) if keys else {}
    return [key for key in keys if key not in found]
