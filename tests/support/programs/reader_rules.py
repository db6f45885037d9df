"""Readers, and owners who extend and delete."""

from datetime import timedelta

from tests.support.programs.model import Paste
from tests.support.programs.rules import Base, allowing, any_one, ends, lives, move


class Readers(Base):
    """Whoever has a code."""

    @move(when=lambda self: self.model.pastes, which=any_one)
    def read(self, which: int) -> None:
        """What lives is read from where its bytes are, and nothing else."""
        code = self.known(which)
        found, known = self.model.call("get_paste", code), self.model.living().get(code)
        assert bool(found) == bool(known)
        if known:
            assert found[0].content_hash == known.content_hash
            assert found[0].object_key in self.model.backends[found[0].backend].objects
            self.model.cache.fill(code, known.content_hash, known.until)

    @move(when=lambda self: self.model.pastes, which=any_one, life=lives, end=ends)
    def extend(self, which: int, life: timedelta | None, end: str) -> None:
        """What lives can be given another end; what has expired too, as long as it is there."""
        code = self.known(which)
        until = life and self.model.now + life
        with allowing("55P03") as refusal, self.ending(end):
            done = self.model.call("extend_paste", code, until)[0].extend_paste
        if refusal.sqlstate is None:
            assert done or code not in self.model.living()
            if done and end != "undone":
                self.model.pastes[code] = Paste(self.model.pastes[code].content_hash, until)

    @move(when=lambda self: self.model.pastes, which=any_one, end=ends, weight=2)
    def delete(self, which: int, end: str) -> None:
        """What lives can be ended."""
        code = self.known(which)
        with allowing("55P03") as refusal, self.ending(end):
            done = self.model.call("delete_paste", code)[0].delete_paste
        if refusal.sqlstate is None:
            assert done == (code in self.model.living())
            if done and end != "undone":
                self.model.pastes[code] = Paste(self.model.pastes[code].content_hash, self.model.now)
