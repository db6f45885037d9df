"""What the processes of a race do: workers drain without end, creators put the same few contents."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from reaper.cli.options import stop_on_signals
from reaper.errors import BytesNeeded, ContentLost
from reaper.queries.base import Intercept
from reaper.store.store import Store
from tests.support.replaced_parts import instead_of
from tests.support.wiring import Wiring

# Clocks of this machine are one: what a creator may ask for surely lives if so much of its life is left.
MARGIN = 0.02
# How many pastes are not read; whoever reads one does nothing else meanwhile.
MERELY_RACING = 0.96
# Lives in milliseconds: of pastes that only race, and of those that are read as well.
MOMENTS, LIVES = (20, 40), (150, 350)


def content(number: int) -> bytes:
    """The bytes of a content."""
    return b"content %d, " % number * (number + 1)


def work(wiring: Wiring) -> None:
    """Drain, and drain again, until a signal asks for the end."""
    with wiring.app() as app:
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


def create(wiring: Wiring, contents: int, threads: int, seconds: float, seed: int, report: str) -> None:
    """Several creators in one process; what they saw is written into a file."""
    seen: Counter[str] = Counter()
    with wiring.app(around=answers_counted(seen)) as app:
        store = app.store()
        until = time.time() + seconds
        creators = [Creator(store, contents, seed + n, seen) for n in range(threads)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda creator: creator.run(until), creators))
    unreadable = [code for creator in creators for code in creator.unreadable]
    Path(report).write_text(json.dumps({"seen": seen, "unreadable": unreadable}))


def answers_counted(seen: Counter[str]) -> Intercept:
    """Count how intents begin and end."""
    guard = threading.Lock()

    def count(what: str) -> None:
        with guard:
            seen[what] += 1

    def begun(call: Callable[..., Any], *arguments: Any) -> Any:
        intent = call(*arguments)
        count("uploads asked for" if intent.upload_required else "found stored")
        return intent

    def committed(call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            made = call(*arguments)
        except BytesNeeded:
            count("gone at the commit")
            raise
        # The last argument says whether its bytes were uploaded.
        if arguments[-1] and not made.stored:
            count("stored by another meanwhile")
        return made

    return instead_of({"begin_put": begun, "commit_put": committed})
