"""A world of several backends, whose contents have several copies; and the services that see to that."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from reaper.app import App
from reaper.services import ALL
from reaper.services.base import Tick
from tests.support import service_ticks
from tests.support.folder_store import FolderStore
from tests.support.world import World

DAY = timedelta(days=1)
NAMES = ("default", "east", "west")
SERVICES = {service.name: service for service in ALL}
COUNTS = """
select coalesce(n, 0), count(*)
  from content c
  left join (select content_hash, count(*) filter (where trouble is null and verified_at is not null) as n
               from reaper.object_locations group by content_hash) as l using (content_hash)
 group by 1
"""


@dataclass
class CopiesWorld(World):
    """Folders as backends unless it is told of others."""

    def register(self) -> None:
        """Make the backends known, as a worker does that starts."""
        for name in self.backends:
            self.sql("select reaper.register_backend(%s)", name)

    def set(self, **settings: object) -> None:
        """Change reaper.settings."""
        for name, value in settings.items():
            self.sql(f"update reaper.settings set {name} = %s", value)

    def state(self, backend: str, state: str) -> None:
        """Make a backend active, readonly or draining."""
        self.sql("select reaper.set_backend_state(%s, %s, 'for a test')", backend, state)

    def folder_of(self, backend: str) -> FolderStore:
        """The folder that stands for a backend."""
        bucket = self.backends[backend]
        assert isinstance(bucket, FolderStore)
        return bucket

    def create(self, app: App, codes: Iterable[str], size: int = 200) -> None:
        """Pastes of a day, each with bytes of its own; the log knows them."""
        store = app.store()
        for code in codes:
            data = Random(code).randbytes(size)
            stored = store.put(data, DAY, code)
            self.log.created(code, data, stored.expires_at)

    def serve(self, app: App, name: str) -> Tick:
        """Run a service to the end of its work."""
        figures: dict[str, int] = {}
        for _ in range(100):
            done = SERVICES[name].tick(service_ticks.context(app, f"{name}:0"))
            for key, number in done.figures.items():
                figures[key] = figures.get(key, 0) + number
            if not done.more:
                return Tick(figures)
        raise AssertionError(f"{name} finds no end: {figures}")

    def see_to_copies(self, app: App, rounds: int = 10) -> None:
        """Copy, remove what is too many, and delete what is owed, until nothing changes."""
        for _ in range(rounds):
            self.serve(app, "replicator")
            self.serve(app, "over_replication")
            self.serve(app, "pending_reaper")
            self.advance_clock("20 minutes")
            self.serve(app, "cleanup_queue")
            if not self.owed():
                return

    def owed(self) -> list[tuple[Any, ...]]:
        """What is not done yet."""
        return self.sql(
            "select 'want', content_hash from reaper.copy_wants union all"
            " select 'intent', content_hash from reaper.copy_intents union all"
            " select 'excess', content_hash from reaper.copy_excess union all"
            " select 'queue', object_key from reaper.cleanup_queue"
        )

    def copies(self) -> dict[int, int]:
        """How many contents have so many good verified copies."""
        return dict(self.sql(COUNTS))

    def agree(self) -> None:
        """Rows and buckets say the same, byte for byte, and the accounts are exact."""
        assert self.complaints() == []
        for name in self.backends:
            rows = self.sql("select object_key from reaper.object_locations where backend = %s", name)
            assert self.keys(name) == {key for (key,) in rows}, name


def spoil(bucket: FolderStore, keys: Iterable[str], how: Callable[[bytes], bytes]) -> None:
    """Change objects behind reaper's back."""
    for key in keys:
        data = bucket.get(key)
        assert data is not None
        bucket.store(key, how(data))
