"""A world in which everything is found that reaper can have, all of it in order, and which can be damaged.

The rows are damaged in a transaction that is rolled back, so that one database serves all tests; what was
done to buckets and cache is undone by hand.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

from reaper.app import App
from reaper.migrate.release_folders import installed_folders
from reaper.ops.doctor import Doctor
from reaper.ops.verify import Verifier
from reaper.queries import Queries
from tests.support.paste_fixtures import Connection, Copies, Pastes, Worker, owe, value
from tests.support.world import BODY, World

# What the server and the login of the tests deserve, whatever else is in order.
SURROUNDINGS = {"login", "durable commits", "throttle"}


class Found(NamedTuple):
    """One thing that a command said is wrong: by which name, and in which words about what."""

    name: str
    words: str


@dataclass
class DamageableWorld(World):
    """All rows in one transaction, two buckets and a cache; and the commands that look at them."""

    db: Connection = field(kw_only=True)
    names: dict[str, str] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        super().__enter__()
        self.furnish()
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._open.close()

    @cached_property
    def looking(self) -> App:
        """The App of the commands, with connections that stay open."""
        return self._open.enter_context(self.app())

    def furnish(self) -> None:
        """One of everything: content of all shapes, batches in both states, all queues, the cache."""
        self.db.execute("select reaper.register_backend('east')")
        self._pastes()
        self._batches()
        self._queues()
        for code in ("live", "bare", "waiting", "forgotten"):
            self.entry(code)

    def _pastes(self) -> None:
        paste, copy = Pastes(self.db), Copies(self.db)
        paste("live", content="shared", expires="1 day")
        paste("twin", content="shared", expires=None)
        paste("bare", content="b0", expires="1 day", own_key=False)
        paste("far", content="c0", expires="1 day")
        copy("c0", "default", "east")
        for place, key in (("default", "key of shared"), ("default", "b0")):
            self.backends[place].store(key, BODY)
        self.backends["default"].store("key of c0", BODY)
        self.backends["east"].store("key of c0", BODY)
        self.names["stored"] = self._stored_through_the_door()

    def _stored_through_the_door(self) -> str:
        query = "select intent_id, object_key from reaper.begin_put('door', 'd0', 10, null)"
        intent, key = self.db.execute(query).fetchone() or (None, "")
        self.backends["default"].store(key, BODY)
        self.db.execute("select reaper.commit_put(%s, true)", [intent])
        return str(key)

    def _batches(self) -> None:
        """A claimed one; a released one, whose names are reusable; and what an earlier one left over."""
        paste, worker = Pastes(self.db), Worker(self.db, "worker-1")
        for code, own_key in (("dead", True), ("buried", True), ("forgotten", False)):
            paste(code, content=f"of {code}", expires="-1 hour", own_key=own_key)
        batch = worker.claim()
        keys = {gone.content_hash: gone.object_key for gone in worker.drop(batch)}
        refusal = {"error": "AccessDenied: no", "permanent": True}
        failures = [
            {"object_key": keys["of dead"], "error": "SlowDown"},
            {"object_key": keys["of buried"], **refusal},
        ]
        worker.finish(batch, [*failures, {"short_code": "forgotten", "error": "away"}])
        for code in ("released", "let go"):
            paste(code, content=f"of {code}", expires="-1 hour", own_key=False)
        self.names["released"] = str(released := worker.claim())
        self.names["journalled"] = worker.drop(released)[0].object_key
        for code in ("claimed", "waiting"):
            paste(code, content=f"of {code}", expires="-1 hour")
        self.names["claimed"] = str(worker.claim())
        for key in ("key of of dead", "key of of buried", "of released", "of let go"):
            self.backends["default"].store(key, BODY)
        for key in ("key of of claimed", "key of of waiting"):
            self.backends["default"].store(key, BODY)

    def _queues(self) -> None:
        owe(self.db, "k1", backend="east")
        query = "select intent_id, object_key from reaper.begin_put('coming', 'i0', 10, null)"
        intent, key = self.db.execute(query).fetchone() or (None, "")
        self.names |= {"intent": str(intent), "coming": str(key)}
        self.backends["default"].store(str(key), BODY)
        self.backends["east"].store("k1", BODY)

    def entry(self, code: str) -> None:
        """Cache a paste."""
        with self.cache() as cache:
            cache.set(f"paste:{code}", 1)

    @contextmanager
    def damaged(self) -> Iterator[None]:
        """Whatever is done in here is undone."""
        before, entries = self.buckets(), self.entries()
        try:
            with self.db.transaction(force_rollback=True):
                yield
        finally:
            for name, objects in before.items():
                self._restore(name, objects)
            self._forget_all_but(entries)

    def _forget_all_but(self, entries: set[str]) -> None:
        if new := self.entries() - entries:
            with self.cache() as cache:
                cache.delete(*new)

    def _restore(self, backend: str, objects: Mapping[str, bytes]) -> None:
        bucket = self.backends[backend]
        now = bucket.contents()
        bucket.drop(*(now.keys() - objects.keys()))
        for key, body in objects.items():
            if now.get(key) != body:
                bucket.store(key, body)

    def verify(self) -> Iterator[Found]:
        """All that `reaper verify` complains about."""
        verifier = Verifier(
            Queries(self.db),
            self.looking.buckets,
            self.looking.cache,
            names_are_ours=True,
            wait=lambda _: None,
        )
        report = verifier.run()
        assert not report.notes, "something was not looked at"
        for finding in report.findings:
            yield Found(finding.kind, f"{finding.subject}: {finding.detail}")

    def doctor(self) -> Iterator[Found]:
        """All that `reaper doctor` complains about, apart from where the tests run."""
        doctor = Doctor(self.db, installed_folders(), list(self.backends))
        for diagnosis in doctor.examine():
            if diagnosis.verdict != "ok" and diagnosis.name not in SURROUNDINGS:
                yield Found(diagnosis.name, f"{diagnosis.verdict}, {diagnosis.detail}")

    def named(self, what: str) -> str:
        """Fill names that are known only since all was furnished into a text."""
        return what.format(**self.names)

    def one(self, query: str) -> Any:
        """One value."""
        return value(self.db, query)
