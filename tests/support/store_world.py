"""A store in a world of its own, and what a test wants to know about it or do to it."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from reaper import config
from reaper.app import App, Parts
from reaper.model import Failed, StoredDigest, StoredObject
from reaper.ports import ObjectStore
from reaper.store.store import Store
from tests.support.world import LOGIN, World

DAY = timedelta(days=1)

Hook = Callable[[str], None]


def nothing(_: str) -> None:
    """Do nothing with the key."""


@dataclass
class Watched:
    """An ObjectStore that remembers what was asked of it, and lets a test do something just before."""

    store: ObjectStore
    puts: list[str] = field(default_factory=list)
    gets: list[str] = field(default_factory=list)
    before_put: Hook = nothing
    before_get: Hook = nothing

    def put(self, key: str, body: BinaryIO | bytes, size: int) -> None:
        self.puts.append(key)
        self.before_put(key)
        self.store.put(key, body, size)

    def get(self, key: str) -> bytes | None:
        self.gets.append(key)
        self.before_get(key)
        return self.store.get(key)

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        return self.store.delete(keys)

    def list(self, after: str = "") -> Iterator[StoredObject]:
        return self.store.list(after)

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        return self.store.find(keys)

    def digest(self, key: str) -> StoredDigest | None:
        return self.store.digest(key)

    def probe(self) -> None:
        self.store.probe()

    def check(self) -> None:
        self.store.check()

    @property
    def notes(self) -> Sequence[str]:
        return self.store.notes


@dataclass
class Shop(World):
    """A world with a store in it; with a reaper.toml its backends come from there."""

    config: Path | None = None

    @property
    def variables(self) -> dict[str, str]:
        variables = super().variables
        if self.config is None:
            return variables
        one = ("REAPER_S3_BUCKET", "REAPER_S3_ENDPOINT_URL")
        return {n: v for n, v in variables.items() if n not in one} | {"REAPER_CONFIG": str(self.config)}

    def app(self, parts: Parts | None = None, **given: Any) -> App:
        """An App in this process."""
        os.environ.update(LOGIN)
        named = {n.removeprefix("REAPER_").lower(): v for n, v in self.variables.items() if n not in LOGIN}
        return App(config.load_all("database_url", config.BACKENDS, **{**named, **given}), parts or Parts())

    @contextmanager
    def opened(self, **given: Any) -> Iterator[tuple[Store, dict[str, Watched]]]:
        """A store, and its backends under observation."""
        with self.app(**given) as plain:
            watched = {name: Watched(store) for name, store in plain.stores.items()}
            with self.app(Parts(stores=watched), **given) as app:
                yield app.store(), watched

    def settle(self) -> None:
        """Let go what is deleted late and twice; then nothing may be left but what lives."""
        for _ in range(3):
            self.advance_clock("1 hour")
            self.drain()
        self.judge()
        assert self.sql("select * from reaper.put_intents") == []
        assert self.sql("select * from reaper.cleanup_queue") == []

    def entries(self) -> set[str]:
        """Every key in Redis."""
        with self.cache() as cache:
            return set(cache.keys())
