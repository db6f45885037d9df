"""Redis or S3 away, slow or lying: the drain completes, and what is owed is delivered when they are back."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.support.captured_logs import capture_logs
from tests.support.ports import deaf_port
from tests.support.s3_double.server import (
    Reply,
    Request,
    deleted,
    error,
    refused,
    result,
)
from tests.support.world import World

Populate = Callable[..., None]


@pytest.fixture
def deaf() -> Iterator[str]:
    """The address of something that accepts connections and never answers."""
    with deaf_port() as port:
        yield f"redis://127.0.0.1:{port}/0"


def owed(world: World) -> dict[str, str | None]:
    return dict(world.sql("select object_key, last_error from reaper.cleanup_queue"))


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("claim_mode", "trouble"), [("mark", "refused"), ("mark", "silent"), ("direct", "refused")]
)
def test_without_redis_the_drain_completes_says_so_once_and_invalidates_when_it_is_back(
    world: World, populate: Populate, deaf: str, closed_port: int, claim_mode: str, trouble: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=300, live=100, contents=200)
    here = world.redis_url
    world.redis_url = deaf if trouble == "silent" else f"redis://127.0.0.1:{closed_port}/0"
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


@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_the_keys_that_s3_refuses_are_queued_and_the_others_are_done(
    world: World, populate: Populate, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=1_000, live=0, contents=1_000)

    def one_in_ten(asked: Request) -> Reply:
        bad = [key for key in asked.keys if key[0] in "ab" and key[1] in "01234567"]
        good = [key for key in asked.keys if key not in bad]
        return result(deleted(*good), *(refused(key, "InternalError") for key in bad))

    world.s3.script = one_in_ten
    totals = world.drain(batch_size=200).telemetry.totals
    queued = owed(world)
    assert totals.objects_failed == len(queued) > 0
    assert totals.objects_deleted + totals.objects_failed == 1_000
    assert all(key[0] in "ab" and "InternalError" in (why or "") for key, why in queued.items())

    world.s3.script = lambda _: None
    world.advance_clock("1 hour")
    world.drain()
    assert owed(world) == {}


class Trouble:
    """Answers the second batch badly, however often it is asked, until it is over."""

    def __init__(self, bad: Callable[[Request], Reply]) -> None:
        self.bad = bad
        self.batches: list[tuple[str, ...]] = []
        self.over = False

    def __call__(self, asked: Request) -> Reply | None:
        if asked.keys not in self.batches:
            self.batches.append(asked.keys)
        second = len(self.batches) > 1 and asked.keys == self.batches[1]
        return self.bad(asked) if second and not self.over else None


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("claim_mode", "kind"),
    [
        *(("mark", kind) for kind in ("fails", "hangs", "error inside 200", "forgets half", "resets")),
        ("direct", "forgets half"),
    ],
)
def test_one_bad_answer_costs_its_own_keys_a_second_try_and_nothing_else(
    world: World, populate: Populate, claim_mode: str, kind: str
) -> None:
    world.set_claim_mode(claim_mode)
    answers: dict[str, Callable[[Request], Reply]] = {
        "fails": lambda _: error(500, "InternalError"),
        "hangs": world.s3.hang,
        "error inside 200": lambda _: error(200, "SlowDown"),
        "forgets half": lambda asked: replace(result(deleted(*asked.keys[::2])), done=True),
        "resets": lambda _: Reply(None),
    }
    populate(due=400, live=0, contents=400)
    world.s3.script = trouble = Trouble(answers[kind])
    totals = world.drain(batch_size=100, s3_read_timeout="500 ms").telemetry.totals
    lost = 50 if kind == "forgets half" else 100
    assert (totals.objects_deleted, totals.objects_failed) == (400 - lost, lost)
    assert len(owed(world)) == lost
    assert world.sql("select * from reaper.check_invariants()") == []

    trouble.over = True
    world.advance_clock("1 hour")
    world.drain()
    assert owed(world) == {}
    assert len({key for asked in world.s3.asked for key in asked.keys}) == 400
    world.judge()


def test_what_is_denied_for_good_goes_to_the_dead_letters_with_its_cause(
    world: World, populate: Populate
) -> None:
    populate(due=20, live=0, contents=20)
    world.s3.script = lambda asked: result(*(refused(key, "AccessDenied") for key in asked.keys))
    world.drain()
    assert owed(world) == {}
    causes = world.sql("select count(*), min(last_error) from reaper.dlq")
    assert causes[0][0] == 20
    assert "AccessDenied" in causes[0][1]
