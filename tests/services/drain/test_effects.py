"""Side effects on several backends: side by side, each with its own failures."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reaper.cache.none import NoCache
from reaper.expiry.side_effects import SideEffects
from reaper.model import Failed, ObjectRef
from reaper.telemetry.events import Telemetry
from tests.support.folder_store import FolderStore
from tests.support.watched_store import WatchedStore

Delete = Callable[[Sequence[str]], Mapping[str, Failed]]
Effects = Callable[..., SideEffects]


@pytest.fixture
def effects(scratch: Path) -> Effects:
    """Side effects on stores that delete as they are told."""

    def on(**stores: Delete) -> SideEffects:
        empty = FolderStore(scratch)
        told = {name: WatchedStore(empty, on_delete=delete) for name, delete in stores.items()}
        return SideEffects({**told}, NoCache(), Telemetry())

    return on


def objects(*names: str) -> list[ObjectRef]:
    return [ObjectRef("hash", backend, key, 1) for backend, key in (name.split("/") for name in names)]


def failures(found: Sequence[dict[str, Any]]) -> dict[str, tuple[str, bool, bool]]:
    return {f"{f['backend']}/{f['object_key']}": (f["error"], f["permanent"], f["outage"]) for f in found}


def test_a_backend_that_hangs_delays_only_its_own_objects(effects: Effects) -> None:
    done = threading.Event()

    def hang(keys: Sequence[str]) -> Mapping[str, Failed]:
        assert done.wait(30), "the other backend was not asked meanwhile"
        return dict.fromkeys(keys, Failed("no answer in time", outage=True))

    def delete(keys: Sequence[str]) -> Mapping[str, Failed]:
        assert list(keys) == ["b", "d"]
        done.set()
        return {}

    found = effects(cold=hang, default=delete).run((), objects("cold/a", "default/b", "cold/c", "default/d"))
    assert failures(found) == dict.fromkeys(["cold/a", "cold/c"], ("no answer in time", False, True))


def test_one_key_on_two_backends_is_two_objects(effects: Effects) -> None:
    denied = Failed("AccessDenied: no", permanent=True)
    found = effects(cold=lambda _: {"a": denied}, default=lambda _: {}).run(
        (), objects("cold/a", "default/a")
    )
    assert failures(found) == {"cold/a": ("AccessDenied: no", True, False)}


def test_a_backend_that_this_process_does_not_know_is_an_outage_and_no_refusal(effects: Effects) -> None:
    found = effects(default=lambda _: {}).run((), objects("default/a", "elsewhere/b"))
    assert failures(found) == {"elsewhere/b": ("backend elsewhere is not configured here", False, True)}
