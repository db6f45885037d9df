"""Whether objects lie under the keys that the binding names: looked for before the first claim.

A store answers "deleted" for any key, also for one that never existed. With a wrong key every deletion would
succeed, the rows that named the objects would be gone, and the objects would stay for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reaper.config.backends import DEFAULT_BACKEND
from reaper.errors import ConfigError
from reaper.model import ObjectRef
from reaper.ports import ObjectStore
from reaper.queries import Ask
from reaper.queries.checks import KeyBinding
from reaper.telemetry.events import Telemetry

SAMPLE = 100
# How often to look again where the tables were bound anew meanwhile.
ATTEMPTS = 3


@dataclass(frozen=True)
class KeyCheck:
    """Looks for a sample of the objects until PostgreSQL knows that they are there."""

    stores: Mapping[str, ObjectStore]
    telemetry: Telemetry
    # The lanes of a process begin together, and one look is enough for all.
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def look(self, ask: Ask) -> bool:
        """Let PostgreSQL decide whether the keys are right; where they are not, claims raise RP010.

        False where they are not: then it may be the wrong bucket, and nothing is to be written there.

        Raises Unreachable where the store does not answer: then nothing is decided. Not to be called inside a
        transaction.
        """
        with self._guard:
            for _ in range(ATTEMPTS):
                binding = ask(lambda q: q.key_binding())
                if binding is None or binding.confirmed or self._is_decided(ask, binding):
                    break
            binding = ask(lambda q: q.key_binding())
            return binding is None or binding.confirmed is not False

    def _is_decided(self, ask: Ask, binding: KeyBinding) -> bool:
        """Look once; False where what was looked for is not bound any more."""
        sample = ask(lambda q: q.sample_keys(SAMPLE))
        missing = self._missing(sample)
        found = len(sample) - len(missing)
        example = self._place(missing[0]) if missing else None
        confirmed = ask(lambda q: q.record_key_check(len(sample), found, example, binding.bound_at))
        if sample:
            self.telemetry.keys_checked(binding.table, len(sample), found, bool(confirmed))
        return confirmed is not None or not sample

    def _missing(self, sample: Sequence[ObjectRef]) -> list[ObjectRef]:
        if not sample:
            return []
        found = self._store().find([ref.object_key for ref in sample])
        return [ref for ref in sample if ref.object_key not in found]

    def _store(self) -> ObjectStore:
        """Where content lies of which nothing else is recorded."""
        store = self.stores.get(DEFAULT_BACKEND)
        if store is None:
            raise ConfigError(
                "backend default is not configured here, and the objects of the bound tables lie there",
                "Add [backends.default] to reaper.toml: objects are looked for before anything is deleted.",
            )
        return store

    def _place(self, ref: ObjectRef) -> str:
        return f"{ref.object_key} in {self._store()!r}"
