"""A small edit of the SQL that takes one safeguard away, and the play that must notice.

    mutant("a claim has no limit", no_more_is_claimed, function="claim_expired", replace="limit p_limit")

An edit names a function, wherever its file lies, and a few words in it. Spaces and line ends in these words
do not matter, and `…` stands for anything up to the end of the statement; in `by`, it stands for what was
found. The words must be there exactly once, or as often as `times` says.
"""

import re
from dataclasses import dataclass

from reaper.migrate.release_folders import installed_folders
from tests.support.mutants.scene import Play
from tests.support.paste_fixtures import Connection

ANYTHING = "…"
READ_COMMITTED = "perform …require_read_committed();"


@dataclass(frozen=True)
class Edit:
    """Some words of a function, exchanged wherever they stand."""

    function: str
    replace: str
    by: str = ""
    times: int = 1

    @property
    def sql(self) -> str:
        """What makes the changed function."""
        return self.changed(source_of(self.function))

    def load(self, db: Connection) -> None:
        """Put the changed function into the database."""
        db.execute(self.sql.encode())

    def changed(self, text: str) -> str:
        """The text with other words."""
        words = anchor(self.replace)
        found = len(words.findall(text))
        assert found == self.times, (
            f"{self.function}: {self.replace!r} is there {found} times instead of {self.times}; "
            "choose words that name the safeguard as the function has it now"
        )
        return words.sub(lambda match: self.by.replace(ANYTHING, match.group()), text)


def anchor(words: str) -> re.Pattern[str]:
    """Words with any space between them, and anything but the end of a statement where it says so."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in words.split(ANYTHING)]
    return re.compile(r"[^;]*?".join(parts))


def source_of(function: str) -> str:
    """The file that makes a function: it has the function's name, in whichever folder and schema it lies."""
    makes = re.compile(rf"^create or replace (function|procedure) \w+\.{function}\b", re.MULTILINE)
    texts = [file.read_text(encoding="utf-8") for file in installed_folders().sql.rglob(f"{function}.sql")]
    found = [text for text in texts if makes.search(text)]
    assert len(found) == 1, f"{len(found)} files make the function {function}"
    return found[0]


@dataclass(frozen=True)
class Mutant:
    """What was taken away, and the play that goes wrong without it."""

    what: str
    play: Play
    edits: tuple[Edit, ...]


def mutant(what: str, play: Play, *, function: str, replace: str, by: str = "", times: int = 1) -> Mutant:
    """One with a single edit."""
    return Mutant(what, play, (Edit(function, replace, by, times),))
