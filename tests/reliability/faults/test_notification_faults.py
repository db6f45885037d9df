"""Events are delivered past endpoints in every kind of trouble, and whatever dies meanwhile loses none."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support import forked_deliverer
from tests.support.faults.world import FaultWorld
from tests.support.forked_processes import ended, preload
from tests.support.ordeals import Ordeal
from tests.support.ports import closed_port
from tests.support.postgres_failover import Servers
from tests.support.postgres_node import CRASHES
from tests.support.waiting import wait_until
from tests.support.webhook_endpoint import Heard, Said, WebhookEndpoint, always

preload(forked_deliverer)

Sized = Callable[[int, int], int]

ADD = "select reaper.add_webhook(%s, %s, '{webhook.test}', 'HOOK_SECRET')"
EMIT = """
select reaper_internal.emit('webhook.test', n::text, '{"webhook": "x"}') from generate_series(1, %s) as n
"""
OTHERS_OFF = "select reaper.disable_webhook(name, 'a test') from reaper.webhooks where name <> 'well'"
OTHERS_ON = "select reaper.enable_webhook(name) from reaper.webhooks"
KEPT = """
select w.name, array_agg(e.event_id::text)
  from reaper.webhooks w
  join (select webhook_id, event_id from reaper.notification_outbox
        union all select webhook_id, event_id from reaper.delivery_dlq) as e using (webhook_id)
 group by w.name
"""
WAITING = """
select o.event_id::text from reaper.notification_outbox o join reaper.webhooks w using (webhook_id)
 where w.name = 'well' and (o.delivered_at is null) = %s
"""


@contextmanager
def delivering(world: FaultWorld) -> Iterator[None]:
    """A process delivers, again and again; it is killed at the end."""
    deliverer = world.fork(forked_deliverer.main, world.wiring)
    yield
    deliverer.kill()
    ended(deliverer)


def seconds_for(world: FaultWorld, well: WebhookEndpoint, events: int) -> float:
    """From the first delivery to the last of so many to the endpoint that is well."""
    before = len(well.heard)
    world.sql(EMIT, events)
    with delivering(world):
        wait_until(lambda: len(well.heard) > before, "an event")
        began = time.monotonic()
        wait_until(lambda: len(well.heard) >= before + events, "all events", patience=600)
        seconds = time.monotonic() - began
        wait_until(lambda: not world.sql(WAITING, True), "all are recorded")
    # What it had leased for the others is free again.
    world.advance_clock("3 minutes")
    return seconds


@contextmanager
def four_in_trouble(world: FaultWorld, well: WebhookEndpoint) -> Iterator[dict[str, WebhookEndpoint]]:
    """Webhooks whose endpoints are slow, down, gone or elsewhere; those of them that hear something."""
    with ExitStack() as stack:
        heard = {
            name: stack.enter_context(WebhookEndpoint(always(said)))
            for name, said in {
                "slow": Said(after=5),
                "moved": Said(301, {"location": well.url()}),
                "gone": Said(410),
            }.items()
        }
        for name, endpoint in heard.items():
            world.sql(ADD, name, endpoint.url())
        world.sql(ADD, "down", f"http://127.0.0.1:{stack.enter_context(closed_port())}/")
        yield heard


def test_an_endpoint_that_is_well_is_served_as_fast_beside_four_in_trouble_as_alone(
    world: FaultWorld, sized: Sized
) -> None:
    # In turn: what slows the machine slows both.
    turns, events = sized(4, 1), sized(2_500, 200)
    alone = beside = 0.0
    with WebhookEndpoint() as well, four_in_trouble(world, well) as others:
        world.sql(ADD, "well", well.url())
        for _ in range(turns):
            world.sql(OTHERS_OFF)
            alone += seconds_for(world, well, events)
            world.sql(OTHERS_ON)
            beside += seconds_for(world, well, events)
        ratio = alone / beside
        print(
            f"\n{turns * events} events: {alone:.2f} s alone, {beside:.2f} s beside four: {ratio:.2f} as fast"
        )
        # The others have work of their own, and a busy machine is no clock: far from 5 s for each.
        assert beside < 5 * alone + 5
        assert ratio >= 0.9 or turns == 1
        assert well.repeated == {}
        subjects = [heard.event["subject"] for heard in well.heard]
        assert subjects == [str(n) for n in range(1, events + 1)] * 2 * turns
        assert len(others["gone"].heard) == turns
        assert len(others["slow"].heard) >= turns
        # Asked after 5, 20 and 80 seconds at the most often.
        assert turns <= len(others["moved"].heard) <= 4 * turns
    assert world.sql("select name from reaper.webhook_lanes where not enabled") == [("gone",)]


@pytest.mark.slow
@pytest.mark.ordeal("notification storm", aim="100 kills and 30 crashes", share=1)
def test_processes_and_servers_that_die_between_deliveries_lose_no_event(
    servers: Servers, world: FaultWorld, ordeal: Ordeal
) -> None:
    def losing(_: Heard) -> Said | None:
        """Now and then an answer is lost."""
        if ordeal.chance.random() >= 0.03:
            return Said()
        ordeal.survived("lost answers")
        return None

    with WebhookEndpoint(losing) as well:
        world.sql(ADD, "well", well.url())
        with four_in_trouble(world, well) as others:
            strikes = 0
            for _ in ordeal.rounds(short=1):
                world.sql(EMIT, 1_000 if ordeal.long else 150)
                for strike in range(10 if ordeal.long else 3):
                    strikes += 1
                    storm(servers, world, well, ordeal, crash=strike % 3 == 1)
                with delivering(world):
                    wait_until(lambda: not world.sql(WAITING, True), "all delivered", patience=300)
                world.advance_clock("3 minutes")
            delivered = {event for (event,) in world.sql(WAITING, False)}
            assert delivered == set(well.ids)
            # What was sent in a second, or a hundred at once, was not recorded when they died.
            lost_answers = ordeal.counts["lost answers"]
            assert max([1, *well.repeated.values()]) <= strikes + lost_answers + 1
            for endpoint in (well, *others.values()):
                require_one_body_for_each_id(endpoint)
            kept = dict(world.sql(KEPT))
            assert {name: set(kept[name]) for name in ("well", "slow", "moved", "down")} == dict.fromkeys(
                ("well", "slow", "moved", "down"), delivered
            )
            ordeal.survived("events", len(delivered))


def require_one_body_for_each_id(endpoint: WebhookEndpoint) -> None:
    """Every attempt at an event, by whichever process, bears its id and the same bytes."""
    bodies: dict[str, set[bytes]] = {}
    for heard in list(endpoint.heard):
        bodies.setdefault(heard.headers["webhook-id"], set()).add(heard.body)
    assert all(len(said) == 1 for said in bodies.values())
    assert len(set().union(*bodies.values())) == len(bodies)


def storm(servers: Servers, world: FaultWorld, well: WebhookEndpoint, ordeal: Ordeal, crash: bool) -> None:
    """A process delivers some events, until it or the server under it is killed; then its lease runs out."""
    enough = len(well.heard) + ordeal.chance.randrange(1, 40)
    deliverer = world.fork(forked_deliverer.main, world.wiring)
    wait_until(lambda: len(well.heard) >= enough or not world.sql(WAITING, True), "some deliveries")
    if crash:
        servers.primary.crash(ordeal.chance.choice(sorted(CRASHES)))
        servers.primary.start()
        ordeal.survived("crashes")
    deliverer.kill()
    ended(deliverer)
    ordeal.survived("kills")
    world.advance_clock("3 minutes")
