"""Words in which tests speak of copies: backends, their states, and a replicator without any bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.support.paste_fixtures import Connection, Worker

SHA = "ab" + "0" * 62


class Copier(Worker):
    """What the services of copies do, without a byte: each copy that is claimed succeeds."""

    def sweep(self, limit: int = 10_000) -> int:
        """A pass, to its end; how many wants it found."""
        wanted = 0
        while True:
            window = self.call("sweep_copies", limit)[0]
            wanted += window.wanted
            if window.complete:
                return wanted

    def claim_copies(self, limit: int = 100) -> list[Any]:
        return self.call("claim_copies", limit)

    def claim_moves(self, limit: int = 100) -> list[Any]:
        return self.call("claim_moves", limit)

    def commit_copy(
        self, task: Any, size: int | None = None, *, sha256: str | None = None, verified: bool = True
    ) -> str:
        """The outcome of a copy from the first source, of the content's size unless another is given."""
        bytes_stored = size if size is not None else 10 if task.size_bytes is None else task.size_bytes
        outcome: str = self.call(
            "commit_copy", task.intent_id, task.lease, task.sources[0], bytes_stored, sha256, verified
        )[0].commit_copy
        return outcome

    def fail_copy(self, task: Any, error: str = "no answer", uploaded: bool = True) -> bool:
        wanted: bool = self.call("fail_copy", task.intent_id, task.lease, error, uploaded)[0].fail_copy
        return wanted

    def report(self, content: str, backend: str, key: str, trouble: str | None) -> str:
        outcome: str = self.call("report_copy", content, backend, key, trouble, "as a test says")[
            0
        ].report_copy
        return outcome

    def replicate(self, limit: int = 100) -> list[str]:
        """Sweep, then make copies until none is asked for; the outcomes."""
        self.sweep()
        outcomes = []
        while tasks := self.claim_copies(limit):
            outcomes += [self.commit_copy(task) for task in tasks]
        return outcomes

    def remove_copy(self, excess: Any) -> str:
        """As if a HEAD had found all that is to stay."""
        gone = (excess.content_hash, excess.remove_backend, excess.remove_key)
        answer = self.call("remove_copy", *gone, excess.keep_backends, excess.keep_keys)
        return str(answer[0].remove_copy)

    def claim_excess(self, limit: int = 100) -> list[Any]:
        return self.call("claim_excess", limit)

    def remove_excess(self) -> list[str]:
        """Remove what is too many, until there is none; the outcomes."""
        outcomes = []
        while candidates := self.claim_excess():
            outcomes += [self.remove_copy(excess) for excess in candidates]
        return outcomes


def backends(db: Connection, *names: str, quota: int | None = None) -> None:
    """Backends beside default, of the same quota."""
    for name in names:
        db.execute("select reaper.register_backend(%s, %s)", [name, quota])


def factor(db: Connection, copies: int) -> None:
    db.execute("update reaper.settings set replication_factor = %s", [copies])


def state(db: Connection, backend: str, to: str) -> None:
    db.execute("select reaper.set_backend_state(%s, %s, 'a test')", [backend, to])


def fail(db: Connection, *names: str) -> None:
    """Backends that stop to answer now."""
    for name in names:
        for _ in range(5):
            db.execute("select reaper.record_backend_failure(%s, 'no answer')", [name])


def answer(db: Connection, *names: str) -> None:
    for name in names:
        db.execute("select reaper.record_backend_success(%s)", [name])


def places(db: Connection, content: str) -> set[str]:
    """Where a content has copies; those in trouble with a question mark."""
    rows = db.execute(
        "select backend || case when trouble is null then '' else '?' end"
        "  from reaper.object_locations where content_hash = %s",
        [content],
    )
    return {row[0] for row in rows}


def wants(db: Connection) -> dict[str, tuple[int, str]]:
    """Contents that want a copy: how many good ones they have, and why."""
    rows: Sequence[Any] = db.execute("select content_hash, good, reason from reaper.copy_wants").fetchall()
    return {content: (good, reason) for content, good, reason in rows}


@pytest.fixture
def copier(checked_db: Connection) -> Copier:
    """The services of copies at the test's own connection."""
    return Copier(checked_db)


@pytest.fixture
def copiers(checked_db: Connection, connect: Callable[..., Connection]) -> Callable[..., Copier]:
    """Further ones, each with a connection of its own."""
    return lambda **options: Copier(connect(dbname=checked_db.info.dbname, **options))
