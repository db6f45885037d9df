"""Redis or S3 away, slow or lying: the drain completes, and what is owed is delivered when they are back."""

import socket
from collections.abc import Callable, Iterator

import pytest

from tests.support.captured_logs import capture_logs
from tests.support.s3_double.server import (
    Asked,
    Reply,
    ScriptedS3,
    all_deleted,
    deleted,
    error,
    refused,
    result,
)
from tests.support.world import World

Populate = Callable[..., None]


@pytest.fixture
def scripted() -> Iterator[ScriptedS3]:
    with ScriptedS3() as running:
        yield running


@pytest.fixture
def deaf() -> Iterator[str]:
    """The address of something that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def owed(world: World) -> dict[str, str | None]:
    return dict(world.sql("select object_key, last_error from reaper.cleanup_queue"))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("trouble", ["refused", "silent"])
def test_without_redis_the_drain_completes_says_so_once_and_invalidates_when_it_is_back(
    world: World, populate: Populate, deaf: str, trouble: str
) -> None:
    populate(due=300, live=100, contents=200)
    here = world.redis_url
    world.redis_url = deaf if trouble == "silent" else f"redis://127.0.0.1:{free_port()}/0"
    with capture_logs() as logs:
        world.drain(batch_size=30)
    assert world.value("select reaper.count_due()") == 0
    assert len([line for line in logs if "redis unreachable" in line["event"]]) == 1
    assert world.value("select count(*) from reaper.invalidations") == 300

    world.redis_url = here
    assert len(world.cached()) == 400
    world.advance_clock("1 hour")
    world.drain()
    world.judge()
    assert world.value("select count(*) from reaper.invalidations") == 0


def test_the_keys_that_s3_refuses_are_queued_and_the_others_are_done(
    world: World, populate: Populate, scripted: ScriptedS3
) -> None:
    populate(due=1_000, live=0, contents=1_000)
    here = world.endpoint_url

    def one_in_ten(asked: Asked) -> Reply:
        bad = [key for key in asked.keys if key[0] in "ab" and key[1] in "01234567"]
        good = [key for key in asked.keys if key not in bad]
        return result(deleted(*good), *(refused(key, "InternalError") for key in bad))

    scripted.script = one_in_ten
    world.endpoint_url = scripted.endpoint_url
    totals = world.drain(batch_size=200).telemetry.totals
    queued = owed(world)
    assert totals.objects_failed == len(queued) > 0
    assert totals.objects_deleted + totals.objects_failed == 1_000
    assert all(key[0] in "ab" and "InternalError" in (why or "") for key, why in queued.items())

    world.endpoint_url = here
    world.advance_clock("1 hour")
    world.drain()
    assert owed(world) == {}


class Trouble:
    """Answers the second batch badly, however often it is asked, until it is over."""

    def __init__(self, bad: Callable[[Asked], Reply]) -> None:
        self.bad = bad
        self.batches: list[tuple[str, ...]] = []
        self.over = False

    def __call__(self, asked: Asked) -> Reply:
        if asked.keys not in self.batches:
            self.batches.append(asked.keys)
        second = len(self.batches) > 1 and asked.keys == self.batches[1]
        return self.bad(asked) if second and not self.over else all_deleted(asked)


@pytest.mark.parametrize("kind", ["fails", "hangs", "error inside 200", "forgets half", "resets"])
def test_one_bad_answer_costs_its_own_keys_a_second_try_and_nothing_else(
    world: World, populate: Populate, scripted: ScriptedS3, kind: str
) -> None:
    answers: dict[str, Callable[[Asked], Reply]] = {
        "fails": lambda _: error(500, "InternalError"),
        "hangs": scripted.hang,
        "error inside 200": lambda _: error(200, "SlowDown"),
        "forgets half": lambda asked: result(deleted(*asked.keys[::2])),
        "resets": lambda _: Reply(None),
    }
    populate(due=400, live=0, contents=400)
    scripted.script = trouble = Trouble(answers[kind])
    world.endpoint_url = scripted.endpoint_url
    totals = world.drain(batch_size=100, s3_read_timeout="500 ms").telemetry.totals
    lost = 50 if kind == "forgets half" else 100
    assert (totals.objects_deleted, totals.objects_failed) == (400 - lost, lost)
    assert len(owed(world)) == lost
    assert world.sql("select * from reaper.check_invariants()") == []

    trouble.over = True
    world.advance_clock("1 hour")
    world.drain()
    assert owed(world) == {}
    assert len({key for asked in scripted.asked for key in asked.keys}) == 400


def test_what_is_denied_for_good_goes_to_the_dead_letters_with_its_cause(
    world: World, populate: Populate, scripted: ScriptedS3
) -> None:
    populate(due=20, live=0, contents=20)
    scripted.script = lambda asked: result(*(refused(key, "AccessDenied") for key in asked.keys))
    world.endpoint_url = scripted.endpoint_url
    world.drain()
    assert owed(world) == {}
    causes = world.sql("select count(*), min(last_error) from reaper.dlq")
    assert causes[0][0] == 20
    assert "AccessDenied" in causes[0][1]
