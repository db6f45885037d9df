"""A small edit of the SQL that takes one safeguard away, and the play that must notice."""

from dataclasses import dataclass

from reaper.migrate.release_folders import installed_folders
from tests.support.mutants.scene import Play
from tests.support.paste_fixtures import Connection

READ_COMMITTED = "perform reaper_internal.require_read_committed();"


@dataclass(frozen=True)
class Edit:
    """One part of a function, exchanged wherever it stands."""

    function: str
    safeguard: str
    instead: str = ""
    times: int = 1

    def load(self, db: Connection) -> None:
        """Put the changed function into the database; what is to be changed is there so many times."""
        [file] = installed_folders().sql.glob(f"*/{self.function}.sql")
        text = file.read_text(encoding="utf-8")
        found = text.count(self.safeguard)
        assert found == self.times, f"{self.safeguard!r} is {found} times in {self.function}"
        db.execute(text.replace(self.safeguard, self.instead).encode())


@dataclass(frozen=True)
class Mutant:
    """What was taken away, and the play that goes wrong without it."""

    what: str
    play: Play
    edits: tuple[Edit, ...]


def mutant(what: str, play: Play, function: str, safeguard: str, instead: str = "", times: int = 1) -> Mutant:
    """One with a single edit."""
    return Mutant(what, play, (Edit(function, safeguard, instead, times),))
