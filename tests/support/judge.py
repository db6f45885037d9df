"""The judge: what is known outside the database, held against the rows, all buckets and the cache.

    log = Log()
    log.created(stored.short_code, data, stored.expires_at)
    ...
    assert complaints(world, log) == []                # whenever nobody is at work
    assert complaints(world, log, settled=True) == []  # once all that was owed has been done

It asks for rows and not for verdicts: apart from check_invariants() no function of ours helps it judge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from reaper.store import cache_entry

READABLE = "select short_code from pastes where expires_at is null or expires_at > reaper.clock()"
COPIES = """
select c.content_hash, coalesce(l.backend, 'default'), coalesce(l.object_key, c.object_key, c.content_hash),
       c.size_bytes
  from content c
  left join reaper.object_locations l using (content_hash)
 where l.trouble is null
"""
# Known to be missing or to have other bytes: nobody relies on these, and what lies there belongs to somebody.
BAD_COPIES = "select backend, object_key from reaper.object_locations where trouble is not null"
WITHOUT_GOOD = """
select c.content_hash
  from content c
 where exists (select from reaper.object_locations l where l.content_hash = c.content_hash)
   and not exists (select from reaper.object_locations l
                    where l.content_hash = c.content_hash and l.trouble is null)
"""
PASTE_CONTENTS = "select short_code, content_hash from pastes where short_code = any (%s)"
# What is on its way, or owed a deletion.
NAMED = """
select backend, object_key from reaper.put_intents
union all
select destination, object_key from reaper.copy_intents
union all
select backend, object_key from reaper.cleanup_queue
union all
select backend, object_key from reaper.cleanup_dlq
union all
select o.* from reaper.batches b cross join unnest(b.object_backends, b.object_keys) as o
union all
select backend, object_key from reaper.sightings
"""
# Whose entry somebody will still drop.
OWED_CODES = """
select short_code from pastes where expires_at <= reaper.clock()
union all
select short_code from reaper.invalidations
union all
select unnest(short_codes) from reaper.batches
"""
UNDONE = {
    "pastes are due": "select short_code from pastes where expires_at <= reaper.clock()",
    "batches are in flight": "select batch_id from reaper.batches",
    "puts are open": "select object_key from reaper.put_intents",
    "copies are under way": "select object_key from reaper.copy_intents",
    "copies are wanted": "select content_hash from reaper.copy_wants",
    "copies are too many": "select content_hash from reaper.copy_excess",
    "deletions are owed": "select object_key from reaper.cleanup_queue",
    "deletions were given up": "select object_key from reaper.cleanup_dlq",
    "cache entries are owed": "select short_code from reaper.invalidations",
    "objects are untracked": "select object_key from reaper.sightings",
    "names are retired": "select object_key from reaper.retired_keys",
}
ACCOUNTS = """
select b.name, b.bytes_used, b.orphan_bytes, b.reserved_bytes,
       (select coalesce(sum(l.size_bytes), 0) from reaper.object_locations l where l.backend = b.name)
  from reaper.backends b
"""


class Place(Protocol):
    """Where the judge looks."""

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def buckets(self) -> Mapping[str, Mapping[str, bytes]]:
        """All that lies on each backend, by its key."""

    def cache_entries(self) -> Mapping[str, bytes]:
        """All that the cache has, by its code."""


@dataclass(frozen=True)
class Known:
    """A paste as its creator knows it; `until` None lives for ever."""

    data: bytes
    until: datetime | None = None


@dataclass
class Log:
    """What somebody outside the database did, and what the answers said."""

    pastes: dict[str, Known] = field(default_factory=dict)
    # Nobody may read them any more.
    over: set[str] = field(default_factory=set)
    # The answer that would say whether they live was lost: both is right, but not other bytes.
    unsure: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def created(self, code: str, data: bytes, until: datetime | None = None) -> None:
        """It lives now, if only again or until another time."""
        self.pastes[code] = Known(data, until)
        self.over.discard(code)
        self.unsure.discard(code)

    def ended(self, code: str) -> None:
        """It was deleted, and that was confirmed."""
        self.over.add(code)
        self.unsure.discard(code)

    def doubt(self, code: str, data: bytes | None = None, until: datetime | None = None) -> None:
        """It was changed or deleted, or with data created, and nobody knows whether that came through."""
        if data is not None:
            self.created(code, data, until)
        self.unsure.add(code)

    def forget_the_dead(self, now: datetime) -> None:
        """Those whose time is over have been judged by now, and need not be looked at again and again."""
        kept = {code for code, known in self.pastes.items() if known.until is None or known.until > now}
        self.pastes = {code: self.pastes[code] for code in kept}
        self.unsure &= kept
        self.over &= kept

    def read(self, code: str, data: bytes | None, when: datetime) -> None:
        """What a reader got at this time of the database; None was told that there is no such paste."""
        known = self.pastes.get(code)
        if data is None and code in self.living(when):
            self.wrong.append(f"paste {code} lived and was not read")
        if data is not None and (known is None or data != known.data):
            self.wrong.append(f"paste {code} was read with bytes that are not its own")
        if data is not None and code in self.over:
            self.wrong.append(f"paste {code} was read after its end")

    def living(self, now: datetime) -> dict[str, bytes]:
        """Those that must be readable now, and their bytes."""
        sure = {code: known for code, known in self.pastes.items() if code not in self.over | self.unsure}
        return {code: k.data for code, k in sure.items() if k.until is None or k.until > now}


def complaints(place: Place, log: Log | None = None, settled: bool = False) -> list[str]:
    """All that is wrong, one sentence each; `settled` asks that nothing is left to be done, too."""
    case = Case(place, log or Log())
    found = [*case.log.wrong, *case.invariants(), *case.objects(), *case.pastes(), *case.cache()]
    return [*found, *case.undone(), *case.orphans(), *case.accounts()] if settled else found


class Case:
    """Everything as it was at one moment, at which nobody worked."""

    def __init__(self, place: Place, log: Log) -> None:
        self.log = log
        self._sql = place.sql
        self._buckets = place.buckets()
        self._entries = place.cache_entries()
        self._copies = {(b, key): (content, size) for content, b, key, size in place.sql(COPIES)}
        self._readable = {code for (code,) in place.sql(READABLE)}
        # Asked last: time goes on, and what lives now was readable a moment ago.
        self._now: datetime = place.sql("select reaper.clock()")[0][0]

    def invariants(self) -> Iterator[str]:
        """What PostgreSQL itself finds."""
        for invariant, subject, detail in self._sql("select * from reaper.check_invariants()"):
            yield f"not so: {invariant}: {subject}, {detail}"

    def objects(self) -> Iterator[str]:
        """Every content has its bytes, and every object belongs to somebody."""
        for (backend, key), (content, size) in self._copies.items():
            data = self._buckets.get(backend, {}).get(key)
            if data is None:
                yield f"content {content} has lost {key} on {backend}"
            # Zero is what an application's own content has before anybody has written its size.
            elif size and len(data) != size:
                yield f"content {content} has {len(data)} bytes in {key} on {backend} instead of {size}"
        for (content,) in self._sql(WITHOUT_GOOD):
            yield f"content {content} has no good copy"
        named = {*self._copies, *self._sql(BAD_COPIES), *self._sql(NAMED)}
        yield from (f"nobody knows {key} on {backend}" for backend, key in self._stored() - named)

    def pastes(self) -> Iterator[str]:
        """What the log says lives can be read, byte for byte, and nothing can that it says is over."""
        living = self.log.living(self._now)
        yield from (f"paste {code} should live" for code in living.keys() - self._readable)
        yield from (f"paste {code} is over and can be read" for code in self.log.over & self._readable)
        contents = dict(self._sql(PASTE_CONTENTS, [*(self.log.pastes.keys() & self._readable)]))
        copies: dict[str, list[tuple[str, str]]] = {}
        for place, (content, _) in self._copies.items():
            copies.setdefault(content, []).append(place)
        for code, content in contents.items():
            for backend, key in copies.get(content, [("", "")]):
                if self._buckets.get(backend, {}).get(key) != self.log.pastes[code].data:
                    yield f"paste {code} does not have its bytes in {key} on {backend}"

    def cache(self) -> Iterator[str]:
        """An entry belongs to a paste that can be read, or somebody will drop it; its bytes are right."""
        stale = self._entries.keys() - self._readable
        owed = {code for (code,) in self._sql(OWED_CODES)} if stale else set()
        yield from (f"the cache still has {code}" for code in stale - owed)
        for code, known in self.log.pastes.items():
            cached = code in self._entries and cache_entry.decode(code, self._entries[code])
            if cached and cached.data != known.data:
                yield f"the cache has bytes for {code} that are not its own"

    def undone(self) -> Iterator[str]:
        """What somebody would still have to do."""
        for what, query in UNDONE.items():
            if rows := self._sql(query):
                yield f"{len(rows)} {what}: {', '.join(str(row[0]) for row in rows[:3])}"

    def orphans(self) -> Iterator[str]:
        """Objects of no content: once nothing is owed there may be none."""
        yield from (
            f"{key} on {backend} is left over" for backend, key in self._stored() - self._copies.keys()
        )

    def accounts(self) -> Iterator[str]:
        """The bytes of every backend are those of its copies, and none is waiting for anything."""
        for backend, used, orphan, reserved, found in self._sql(ACCOUNTS):
            if (used, orphan, reserved) != (found, 0, 0):
                yield f"{backend} has {used} of {found} bytes used, {orphan} orphan, {reserved} reserved"

    def _stored(self) -> set[tuple[str, str]]:
        return {(backend, key) for backend, objects in self._buckets.items() for key in objects}
