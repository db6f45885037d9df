"""`reaper verify` while writers write and drains drain: what is on its way is no finding."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from moto.s3.models import s3_backends

from reaper import config
from reaper.app import App

ACCOUNT = "123456789012"
ROUNDS = 2


class Crowd:
    """Threads that do something again and again until they are told to stop; their errors are not lost."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.errors: list[BaseException] = []

    @contextmanager
    def busy(self, *habits: Callable[[], None]) -> Iterator[None]:
        threads = [threading.Thread(target=self._repeat, args=(habit,)) for habit in habits]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        assert self.errors == []

    def _repeat(self, habit: Callable[[], None]) -> None:
        try:
            while not self.stop.is_set():
                habit()
        except BaseException as error:  # noqa: BLE001  shown by busy()
            self.errors.append(error)


@pytest.mark.slow
@pytest.mark.usefixtures("run")
def test_nothing_is_found_while_pastes_come_and_go(dsn: str, bucket: Any, entries: Any) -> None:
    numbers = itertools.count()

    def write() -> None:
        """The object, then content and paste; every second one has expired already, the others are cached."""
        number = next(numbers)
        key = f"{number % 7}/{number}"
        s3_backends[ACCOUNT]["aws"].put_object(bucket.name, key, b"0123456789")
        with psycopg.connect(dsn) as connection:
            connection.execute("insert into content values (%s, %s, 1, 10)", [str(number), key])
            connection.execute(
                "insert into pastes (short_code, content_hash, expires_at)"
                " values (%s, %s, now() + %s::interval)",
                [f"p{number}", str(number), "-1 minute" if number % 2 else "1 day"],
            )
        if number % 2 == 0:
            entries.set(f"paste:p{number}", 1)

    crowd = Crowd()
    with (
        App(config.load()) as app,
        App(config.load()) as drainer,
        crowd.busy(write, write, drainer.drain),
    ):
        reports = [app.verify() for _ in range(ROUNDS)]
    assert [report.findings for report in reports] == [[]] * ROUNDS
    assert reports[-1].seen["objects"] > 0
