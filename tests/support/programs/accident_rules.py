"""What simply happens: time, outages, refusals, full stores, sessions that hold rows."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tests.support.programs.memory_backends import DENIED, SLOW_DOWN, content, name
from tests.support.programs.rules import Base, any_one, backends, move, numbers

SPANS = [
    timedelta(seconds=1),
    timedelta(seconds=61),
    timedelta(minutes=6),
    timedelta(minutes=16),
    timedelta(hours=3),
    timedelta(days=1, hours=1),
]


STATES = ["active", "active", "active", "readonly"]

failures = st.sampled_from([SLOW_DOWN, DENIED, None])


class Accidents(Base):
    """Nobody's doing."""

    @move(weight=3, span=st.sampled_from(SPANS))
    def time_passes(self, span: timedelta) -> None:
        """And with it lives, leases and patience."""
        self.model.advance(span)

    @move(backend=backends, away=st.booleans())
    def backend_comes_and_goes(self, backend: str, away: bool) -> None:
        """With what its circuit learns of it."""
        self.model.backends[backend].is_away = away
        if away:
            self.model.call("record_backend_failure", backend, "no connection")
        else:
            self.model.call("record_backend_success", backend)

    @move(weight=3, backend=backends, number=numbers, failure=failures, bare=st.booleans())
    def backend_refuses(
        self, backend: str, number: int, failure: Mapping[str, Any] | None, bare: bool
    ) -> None:
        """To delete the objects of one content, or no longer."""
        refuses = self.model.backends[backend].refuses
        refuses.pop(what := named(number, bare), None)
        if failure:
            refuses[what] = failure

    @move(away=st.booleans())
    def cache_comes_and_goes(self, away: bool) -> None:
        """Entries stay in it meanwhile."""
        self.model.cache.is_away = away

    @move(backend=backends, quota=st.sampled_from([None, None, 40, 200]), state=st.sampled_from(STATES))
    def room_changes(self, backend: str, quota: int | None, state: str) -> None:
        """There may be less room than is used, or nothing new may come."""
        self.model.call("set_quota", backend, quota, "a test")
        self.model.call("set_backend_state", backend, state, "a test")

    @move(when=lambda self: self.model.pastes, which=any_one)
    def somebody_holds_a_paste(self, which: int) -> None:
        """A session of the application's that does not come to its end."""
        self.model.hold("select from pastes where short_code = %s for update nowait", self.known(which))

    @move(when=lambda self: self.model.pastes, which=any_one)
    def somebody_holds_a_content(self, which: int) -> None:
        """And another."""
        content_hash = self.model.pastes[self.known(which)].content_hash
        self.model.hold("select from content where content_hash = %s for update nowait", content_hash)

    @move(when=lambda self: self.model.is_held)
    def somebody_lets_go(self) -> None:
        """It does come to its end."""
        self.model.let_go()


def named(number: int, bare: bool) -> str:
    """The hash of a content, which is also in the names of its objects."""
    return f"bare{number}" if bare else name(content(number))
