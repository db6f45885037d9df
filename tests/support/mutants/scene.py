"""What the plays are made with: a transaction that is rolled back, a worker, a writer."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.support.paste_fixtures import (
    Clock,
    Connection,
    Copies,
    Pastes,
    Worker,
    column,
    findings,
    refused,
    value,
)
from tests.support.writer_fixtures import Writer

Play = Callable[["Scene"], None]

# A trigger of the application, which says nothing and does not let a row change.
SWALLOW = """
create function swallow() returns trigger language plpgsql as $$ begin
    if old.short_code = 'bad' then return null; end if;
    return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger swallow before {} on pastes for each row execute function swallow();
"""


class Scene:
    """One connection, in whose transaction everything happens."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.paste, self.copy, self.clock = Pastes(db), Copies(db), Clock(db)
        self.me, self.writer = Worker(db, "me"), Writer(db, "writer")

    def all_is_well(self) -> None:
        """Everything that must be true at every instant is."""
        assert findings(self.db) == []

    @contextmanager
    def refusal(self, sqlstate: str) -> Iterator[None]:
        """What is done in here must be refused, and is undone."""
        with refused(sqlstate), self.db.transaction():
            yield

    def value(self, query: str, *arguments: Any) -> Any:
        """One value."""
        return value(self.db, query, *arguments)

    def column(self, query: str, *arguments: Any) -> list[Any]:
        """The first column, sorted."""
        return sorted(column(self.db, query, *arguments))

    def due(self, *codes: str, **more: Any) -> None:
        """Pastes that expired an hour ago, each with content of its own unless one is named."""
        for code in codes:
            self.paste(code, **{"content": f"of {code}", **more})

    def live(self, *codes: str, **more: Any) -> None:
        """Pastes that live for a day."""
        for code in codes:
            self.paste(code, **{"content": f"of {code}", "expires": "1 day", **more})

    def released(self, *codes: str, **more: Any) -> Any:
        """The batch of due pastes whose references are gone."""
        self.due(*codes, **more)
        batch = self.me.claim()
        self.me.drop(batch)
        return batch

    def stored(self, code: str = "a", content: str = "h", size: int = 10) -> str:
        """A paste that came through the door; the key of its object."""
        return str(self.writer.put(code, content, size).object_key)

    def over(self, code: str = "a") -> Any:
        """Let a paste end and its references go; the batch that is to delete its object."""
        assert self.writer.delete(code)
        batch = self.me.claim()
        self.me.drop(batch)
        return batch

    def adopted(self) -> list[str]:
        """The keys that a worker who adopts is to delete."""
        batch = self.me.adopt()
        return batch.object_keys if batch else []

    def lease(self, limit: int = 1000) -> tuple[Any, list[str]]:
        """A lease on owed objects, and their keys."""
        rows = self.me.call("claim_cleanup", limit)
        return (rows[0].lease if rows else None), sorted(row.object_key for row in rows)

    def settle(self, lease: Any, failed: Sequence[dict[str, Any]] = ()) -> int:
        """How many of the lease are gone."""
        return int(self.me.call("finish_cleanup", lease, json.dumps(list(failed)))[0][0])

    def queued(self) -> list[str]:
        """The keys in the cleanup queue."""
        return self.column("select object_key from reaper.cleanup_queue")

    def dead(self) -> list[str]:
        """The keys that were given up."""
        return self.column("select object_key from reaper.cleanup_dlq")

    def owed_entries(self) -> list[str]:
        """The codes whose cache entry is to be dropped."""
        return self.column("select short_code from reaper.invalidations")

    def marked(self) -> list[str]:
        """The codes of marked rows."""
        return self.column("select short_code from pastes where deletion_status = 'DELETION_IN_PROGRESS'")

    def codes(self) -> list[str]:
        """The codes of all rows."""
        return self.column("select short_code from pastes")


OLD_SNAPSHOTS: set[Play] = set()


def from_an_old_snapshot(play: Play) -> Play:
    """A play in a transaction that does not see what others commit after its first statement."""
    OLD_SNAPSHOTS.add(play)
    return play


def failure(key: str, error: str = "SlowDown", **verdict: bool) -> dict[str, Any]:
    """The report of an object that is still there."""
    return {"object_key": key, "error": error, **verdict}
