"""Objects that no row names, and the copies of one content, as an operator looks at them and acts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from reaper.concurrency import Stop
from reaper.errors import BadArgument, ReaperError, describe
from reaper.ports import ObjectStore
from reaper.queries import Queries
from reaper.queries.integrity import CopyToScrub
from reaper.storage.copy_check import check

PAGE = 1000
# How often it is asked whether open transactions have ended that may name what is to be deleted.
PAUSE, PAUSES = 0.5, 120
NOT_HASHED = "its bytes were not compared: the hash is not known to be their SHA-256"


@dataclass(frozen=True, slots=True)
class CheckedCopy:
    """What a copy is now, and what was recorded of it."""

    backend: str
    object_key: str
    outcome: str
    detail: str
    recorded: str


def scrub_content(q: Queries, stores: Mapping[str, ObjectStore], content_hash: str) -> list[CheckedCopy]:
    """Read every copy of a content, and record what each is."""
    found = q.copies_to_scrub(content_hash)
    if not found:
        raise BadArgument(f"there is no content {content_hash}", "reaper why HASH tells what became of it.")
    return [_check(q, stores, backend, copy) for backend, _, copy in found]


def _check(q: Queries, stores: Mapping[str, ObjectStore], backend: str, copy: CopyToScrub) -> CheckedCopy:
    store = stores.get(backend)
    if store is None:
        return CheckedCopy(backend, copy.object_key, "unread", "the backend is not configured here", "")
    try:
        verdict = check(store, copy)
    except ReaperError as error:
        return CheckedCopy(backend, copy.object_key, "unread", describe(error), "")
    recorded = ""
    if verdict.outcome == "missing":
        recorded = q.suspect_missing(copy.content_hash, backend, copy.object_key)
    elif verdict.outcome in ("good", "corrupt"):
        trouble = None if verdict.outcome == "good" else "corrupt"
        recorded = q.report_copy(copy.content_hash, backend, copy.object_key, trouble, verdict.detail)
        q.delete_suspects(backend, [copy.object_key])
    detail = NOT_HASHED if verdict.outcome == "good" and not copy.sha256 else verdict.detail
    return CheckedCopy(backend, copy.object_key, verdict.outcome, detail, recorded)


def delete_untracked(
    q: Queries,
    backend: str,
    older_than: timedelta,
    stop: Stop,
    pause: Callable[[float], None] = time.sleep,
) -> Counter[str]:
    """Retire the names of all that is old enough, and queue it once open transactions have ended.

    Those of all databases of the server count. After a minute the rest is left to the service cleanup_queue.
    """
    figures = Counter(retired=0, queued=0, in_use=0, waiting=0)
    after = ""
    while not stop.is_set() and (page := q.untracked_objects(backend, older_than, after, PAGE)):
        after = page[-1].object_key
        figures["retired"] += q.retire_untracked(backend, [found.object_key for found in page], older_than)
    for _ in range(PAUSES):
        settled = q.finish_untracked(PAGE)
        while settled.queued or settled.in_use:
            figures.update(queued=settled.queued, in_use=settled.in_use)
            settled = q.finish_untracked(PAGE)
        figures["waiting"] = settled.waiting
        if not settled.waiting or stop.is_set():
            break
        pause(PAUSE)
    return figures
