"""What the processes of a race do: workers drain without end, creators put the same few contents."""

import json
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from reaper import config
from reaper.app import App, Parts
from reaper.cli.options import stop_on_signals
from reaper.errors import BytesNeeded, ContentLost
from reaper.queries import Queries
from reaper.store.store import Store
from tests.support.folder_store import Folder

# Clocks of this machine are one: what a creator may ask for surely lives if so much of its life is left.
MARGIN = 0.02
# How many pastes are not read; whoever reads one does nothing else meanwhile.
MERELY_RACING = 0.96
# Lives in milliseconds: of pastes that only race, and of those that are read as well.
MOMENTS, LIVES = (20, 40), (150, 350)


def content(number: int) -> bytes:
    """The bytes of a content."""
    return b"content %d, " % number * (number + 1)


def make_app(variables: dict[str, str], folder: str | None) -> App:
    """An App on the bucket of the variables, or on a folder instead."""
    os.environ.update(variables)
    buckets = {"default": Folder(Path(folder))} if folder else None
    return App(config.load_all("database_url", config.BACKENDS), Parts(buckets=buckets))


def work(variables: dict[str, str], folder: str | None) -> None:
    """Drain, and drain again, until a signal asks for the end."""
    with make_app(variables, folder) as app:
        stop_on_signals(app.stop)
        with app.heartbeat():
            lane = app.lane(app.session("drain:0"), app.stop)
            while not app.stop.is_set():
                lane.run()
                app.stop.wait(0.005)


@dataclass
class Creator:
    """Puts one of few contents, mostly for moments, and reads what it knows to live."""

    store: Store
    contents: int
    seed: int
    seen: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)

    def run(self, until: float) -> None:
        """Go on until this time."""
        chance = random.Random(self.seed)
        while time.time() < until:
            data = content(chance.randrange(self.contents))
            if chance.random() < MERELY_RACING:
                self.store.put(data, timedelta(milliseconds=chance.randint(*MOMENTS)))
            else:
                self._put_and_read(data, timedelta(milliseconds=chance.randint(*LIVES)))
            self.seen["puts"] += 1

    def _put_and_read(self, data: bytes, life: timedelta) -> None:
        stored = self.store.put(data, life)
        assert stored.expires_at is not None
        end = stored.expires_at.timestamp()
        while time.time() < end - MARGIN:
            readable = self._is_readable(stored.short_code, data)
            self.seen["reads"] += 1
            if not readable and time.time() < end - MARGIN:
                self.unreadable.append(stored.short_code)

    def _is_readable(self, code: str, data: bytes) -> bool:
        try:
            paste = self.store.get(code)
        except ContentLost:
            return False
        return paste is not None and paste.data == data


def create(
    variables: dict[str, str], folder: str | None, threads: int, seconds: float, seed: int, report: str
) -> None:
    """Several creators in one process; what they saw is written into a file."""
    seen: Counter[str] = Counter()
    with make_app(variables, folder) as app:
        count_answers(seen)
        store = app.store()
        until = time.time() + seconds
        creators = [Creator(store, int(variables["RACE_CONTENTS"]), seed + n, seen) for n in range(threads)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda creator: creator.run(until), creators))
    unreadable = [code for creator in creators for code in creator.unreadable]
    Path(report).write_text(json.dumps({"seen": seen, "unreadable": unreadable}))


def count_answers(seen: Counter[str]) -> None:
    """Count in this process how intents begin and end."""
    guard = threading.Lock()
    begin, commit = Queries.begin_put, Queries.commit_put

    def count(what: str) -> None:
        with guard:
            seen[what] += 1

    def begun(self: Queries, *arguments: object) -> object:
        intent = begin(self, *arguments)  # type: ignore[arg-type]
        count("uploads asked for" if intent.upload_required else "found stored")
        return intent

    def committed(self: Queries, *arguments: object) -> object:
        try:
            made = commit(self, *arguments)  # type: ignore[arg-type]
        except BytesNeeded:
            count("gone at the commit")
            raise
        if arguments[1] and not made.stored:
            count("stored by another meanwhile")
        return made

    Queries.begin_put, Queries.commit_put = begun, committed  # type: ignore[method-assign, assignment]
