"""An application at work: readers and writers of pastes at a steady rate, whose waiting times are measured.

Requests come when they come: each is counted from the moment at which it was due, so that one slow answer is
charged to all that had to wait behind it.
"""

from __future__ import annotations

import multiprocessing
import random
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.server_addresses import Addresses

PER_SECOND = 200
WRITES = 0.2
_LIVE = """
select short_code, content_hash from public.pastes tablesample system (%s) where expires_at > now() limit 5000
"""
_READ = """
select c.content_hash, c.object_key, c.size_bytes
  from public.pastes p join public.content c using (content_hash)
 where p.short_code = %s and p.expires_at > now()
"""
_REFER = "update public.content set ref_count = ref_count + 1 where content_hash = %s"
_INSERT = """
insert into public.pastes (short_code, content_hash, expires_at) values (%s, %s, now() + interval '1 day')
"""


class ForegroundLoad:
    """The handle on the process in which they live."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    @contextmanager
    def watched(self) -> Iterator[list[float]]:
        """The waiting times of those who come during the block, in seconds; complete after it."""
        latencies: list[float] = []
        self._pipe.send("begin")
        yield latencies
        self._pipe.send("end")
        latencies += self._pipe.recv()


@contextmanager
def foreground_load(addresses: Addresses) -> Iterator[ForegroundLoad]:
    """Readers and writers for as long as the block runs."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(addresses, theirs), daemon=True)
    process.start()
    # Only the other process has this end now: if it fails, that is noticed.
    theirs.close()
    try:
        ours.recv()
        yield ForegroundLoad(ours)
    finally:
        process.terminate()
        process.join()
        ours.close()


def _serve(addresses: Addresses, pipe: Pipe) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chance = random.Random(1)
    latencies: list[float] = []
    with db.connect(addresses.dsn, "bench:foreground") as connection:
        # A small sample of a small table may be empty.
        live = connection.execute(_LIVE, (5,)).fetchall() or connection.execute(_LIVE, (100,)).fetchall()
        pipe.send("ready")
        due = time.perf_counter()
        while True:
            due += chance.expovariate(PER_SECOND)
            time.sleep(max(0.0, due - time.perf_counter()))
            code, content = chance.choice(live)
            _request(connection, code, content, writes=chance.random() < WRITES)
            latencies.append(time.perf_counter() - due)
            while pipe.poll():
                if pipe.recv() == "end":
                    pipe.send(latencies)
                # A queue that built up before is not charged to the phase that is measured from here on.
                latencies, due = [], time.perf_counter()


def _request(connection: Connection, code: str, content: str, writes: bool) -> None:
    if not writes:
        connection.execute(_READ, (code,)).fetchall()
        return
    with connection.transaction():
        connection.execute(_REFER, (content,))
        connection.execute(_INSERT, (secrets.token_urlsafe(9), content))
