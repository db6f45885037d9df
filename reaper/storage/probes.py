"""Recovery: a backend whose circuit is open is probed after a pause, so that an idle system recovers too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reaper.concurrency import for_each
from reaper.errors import ReaperError, describe
from reaper.ports import ObjectStore
from reaper.queries import Ask


@dataclass(frozen=True)
class Probes:
    """What one pass over the open circuits did."""

    reset: int
    sent: int
    closed: int


@dataclass(frozen=True)
class Prober:
    """Looks after open circuits; any number may run, a token gives each probe to one of them."""

    ask: Ask
    stores: Mapping[str, ObjectStore]

    def tick(self) -> Probes:
        """Open what a dead prober left half open, then probe every backend whose pause is over."""
        reset = self.ask(lambda q: q.reset_stale_probes())
        states = self.ask(lambda q: q.circuit_states())
        waiting = [c.backend for c in states if c.state == "open" and c.backend in self.stores]
        answers = [a for a in for_each(waiting, self._probe).values() if a is not None]
        return Probes(reset, len(answers), sum(answers))

    def _probe(self, backend: str) -> bool | None:
        """Whether it answers again; None when the pause is not over, or another process probes it."""
        token = self.ask(lambda q: q.claim_probe(backend))
        if token is None:
            return None
        error = self._refusal(backend)
        settled = self.ask(lambda q: q.finish_probe(backend, token, error))
        return settled and error is None

    def _refusal(self, backend: str) -> str | None:
        try:
            self.stores[backend].check()
        except ReaperError as error:
            return describe(error)
        return None
