"""A small edit of the SQL that takes one safeguard away, and the play that must notice."""

from dataclasses import dataclass

from reaper.files import installed_source
from tests.mutants.scene import Play
from tests.paste_fixtures import Connection

READ_COMMITTED = "perform reaper.require_read_committed();"


@dataclass(frozen=True)
class Edit:
    """One part of a function, exchanged."""

    function: str
    safeguard: str
    instead: str = ""

    def load(self, db: Connection) -> None:
        """Put the changed function into the database; what is to be changed must be there exactly once."""
        text = (installed_source().sql / "functions" / f"{self.function}.sql").read_text(encoding="utf-8")
        assert text.count(self.safeguard) == 1, f"{self.safeguard!r} is not in {self.function} once"
        db.execute(text.replace(self.safeguard, self.instead).encode())


@dataclass(frozen=True)
class Mutant:
    """What was taken away, and the play that goes wrong without it."""

    what: str
    play: Play
    edits: tuple[Edit, ...]


def mutant(what: str, play: Play, function: str, safeguard: str, instead: str = "") -> Mutant:
    """One with a single edit."""
    return Mutant(what, play, (Edit(function, safeguard, instead),))
