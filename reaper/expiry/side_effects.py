"""What is done outside PostgreSQL for what it has released: cache entries dropped, objects deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reaper.concurrency import for_each
from reaper.expiry.wait_for_standby import NOT_THERE
from reaper.model import Failed, ObjectRef
from reaper.ports import Cache, ObjectStore
from reaper.queries.failure_arguments import Failures, code_failures, object_failures
from reaper.telemetry.events import Telemetry


def at_once() -> bool:
    """Asked before objects are deleted, let them go."""
    return True


@dataclass(frozen=True)
class SideEffects:
    """What is done outside PostgreSQL for a released batch; doing it twice does no harm."""

    stores: Mapping[str, ObjectStore]
    cache: Cache
    telemetry: Telemetry

    def run(
        self, codes: Sequence[str], objects: Sequence[ObjectRef], may_delete: Callable[[], bool] = at_once
    ) -> Failures:
        """Drop cache entries, and delete objects if these may go; returns what is not known to be gone."""
        with self.telemetry.step("cache"):
            stale = self.cache.forget(codes) if codes else {}
        with self.telemetry.step("objects"):
            left = self._delete(objects) if not objects or may_delete() else _kept(objects)
        return code_failures(stale) + object_failures(objects, left)

    def drop(self, codes: Sequence[str]) -> Failures:
        """Drop queued cache entries so that no late reader can fill them: some pastes were deleted early."""
        with self.telemetry.step("cache"):
            stale = self.cache.drop(codes)
        return code_failures(stale)

    def _delete(self, objects: Sequence[ObjectRef]) -> dict[tuple[str, str], Failed]:
        """Delete on all backends side by side, so that a slow one delays only its own objects."""
        keys: dict[str, list[str]] = {}
        for o in objects:
            keys.setdefault(o.backend, []).append(o.object_key)
        left = for_each(keys, lambda backend: self._delete_on(backend, keys[backend]))
        return {(backend, key): why for backend, failed in left.items() for key, why in failed.items()}

    def _delete_on(self, backend: str, keys: Sequence[str]) -> Mapping[str, Failed]:
        store = self.stores.get(backend)
        if store is None:
            # Says nothing about the objects: another process may know the backend.
            return dict.fromkeys(keys, Failed(f"backend {backend} is not configured here", outage=True))
        return store.delete(keys)


def _kept(objects: Sequence[ObjectRef]) -> dict[tuple[str, str], Failed]:
    """None of them was tried."""
    return {(o.backend, o.object_key): NOT_THERE for o in objects}
