"""A database that may be anywhere, a folder for its objects, perhaps a cache, and a judge of them all."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from reaper.app import App, Parts
from tests.support.folder_store import Folder
from tests.support.judge import UNDONE, Log, complaints
from tests.support.races.world import Arena


@dataclass
class Ground(Arena):
    """Where traffic goes on while servers fail: the database's address changes when another takes over."""

    log: Log = field(default_factory=Log)
    # How long a worker waits for a standby.
    patience: float = 0.3

    @property
    def variables(self) -> dict[str, str]:
        variables = super().variables
        return (
            variables if self.redis_url else {n: v for n, v in variables.items() if n != "REAPER_REDIS_URL"}
        )

    @property
    def dbname(self) -> str:
        """The name of its database, whichever server has it."""
        return str(conninfo_to_dict(self.dsn)["dbname"])

    def app(self, parts: Parts | None = None, **given: object) -> App:
        """An App in this process."""
        app = super().app(parts, **given)
        app.standby.patience = self.patience
        return app

    def cached(self) -> set[str]:
        """The codes that have a cache entry."""
        return super().cached() if self.redis_url else set()

    def cache_entries(self) -> dict[str, bytes]:
        """What the cache has of each code."""
        return super().cache_entries() if self.redis_url else {}

    def settle(self, hours: int = 6) -> None:
        """Let time pass until all that is left to be done has been done."""
        with self.app() as app, app.heartbeat():
            runner = app.runner(1)
            app.dispatcher().register(runner.services.values())
            for _ in range(hours):
                self.advance_clock("1 hour")
                runner.run_service("watchdog")
                runner.run_service("pending_reaper")
                app.drain()
                if not any(self.sql(left) for left in UNDONE.values()):
                    return

    def remove(self, keys: list[str]) -> None:
        """Take objects away that nobody knows, as an operator would."""
        assert self.folder is not None
        Folder(Path(self.folder)).delete(keys)

    def complaints(self, settled: bool = False) -> list[str]:
        """What is wrong, in the judge's words."""
        return complaints(self, self.log, settled)

    def judge(self) -> None:
        """Nothing is wrong as it is, nor once everything has been done."""
        assert self.complaints() == []
        self.settle()
        assert self.complaints(settled=True) == []
        self.forget()

    def forget(self) -> None:
        """Those that are over for good need not be looked at again."""
        gone = self.log.pastes.keys() - {code for (code,) in self.sql("select short_code from pastes")}
        for code in gone:
            with contextlib.suppress(KeyError):
                del self.log.pastes[code]
        self.log.over -= gone
        self.log.unsure -= gone
