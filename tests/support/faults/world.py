"""A world in which traffic goes on while its servers fail, are replaced and come back."""

import contextlib
from dataclasses import dataclass
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from reaper.app import App
from tests.support.judge import UNDONE
from tests.support.world import World


@dataclass
class FaultWorld(World):
    """The database's address changes when another server takes over; objects lie in a folder."""

    # How long a worker waits for a standby.
    patience: float = 0.3

    @property
    def dbname(self) -> str:
        """The name of its database, whichever server has it."""
        return str(conninfo_to_dict(self.dsn)["dbname"])

    def app(self, **given: Any) -> App:
        """An App in this process that does not wait long for a standby."""
        app = super().app(**given)
        app.standby.patience = self.patience
        return app

    def recover(self, hours: int = 6) -> None:
        """Let time pass until all that is left to be done has been done."""
        with self.app() as app, app.heartbeat():
            runner = app.runner_by_hand()
            for _ in range(hours):
                self.advance_clock("1 hour")
                runner.run_service("watchdog")
                runner.run_service("pending_reaper")
                app.drain()
                if not any(self.sql(left) for left in UNDONE.values()):
                    return

    def judge(self) -> None:
        """Nothing is wrong as it is, nor once everything has been done."""
        assert self.complaints() == []
        self.recover()
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
