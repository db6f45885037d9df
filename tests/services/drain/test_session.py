"""A session has patience with a server that it knows, and none with an address where nobody ever answered."""

import threading
from typing import Any

import pytest

from reaper.db.reconnecting_session import Session
from reaper.errors import Unreachable


class Server:
    """Does not answer the first times."""

    def __init__(self, absent: int) -> None:
        self.absent = absent
        self.asked = 0

    def connect(self) -> Any:
        self.asked += 1
        if self.asked <= self.absent:
            raise Unreachable("nobody there")
        return self

    closed = False


def bound(connection: Any) -> Any:
    return connection


def asked(_: object) -> str:
    return "an answer"


def test_an_address_where_nobody_ever_answered_is_not_tried_twice() -> None:
    server = Server(absent=1)
    with pytest.raises(Unreachable):
        Session(server.connect, bound).call(asked)
    assert server.asked == 1


def test_the_first_call_of_a_session_waits_for_a_server_that_another_has_met() -> None:
    met = threading.Event()
    Session(Server(absent=0).connect, bound, answered=met).call(asked)
    late = Server(absent=2)
    assert Session(late.connect, bound, answered=met).call(asked) == "an answer"
    assert late.asked == 3
