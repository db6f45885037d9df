"""Events are delivered past endpoints in every kind of trouble, and whatever dies meanwhile loses none."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from tests.support import forked_deliverer
from tests.support.faults.world import FaultWorld
from tests.support.forked_processes import ended, preload
from tests.support.ordeals import Ordeal
from tests.support.ports import closed_port
from tests.support.postgres_failover import Servers
from tests.support.postgres_node import CRASHES
from tests.support.waiting import wait_until
from tests.support.webhook_endpoint import Said, WebhookEndpoint, always

preload(forked_deliverer)

Sized = Callable[[int, int], int]

ADD = "select reaper.add_webhook(%s, %s, '{webhook.test}', 'HOOK_SECRET')"
EMIT = """
select reaper_internal.emit('webhook.test', n::text, '{"webhook": "x"}') from generate_series(1, %s) as n
"""
WAITING = """
select o.event_id::text from reaper.notification_outbox o join reaper.webhooks w using (webhook_id)
 where w.name = 'well' and (o.delivered_at is null) = %s
"""


@contextmanager
def delivering(world: FaultWorld, *slow: WebhookEndpoint) -> Iterator[None]:
    """A worker's pass goes on in this process; those that are slow let go at its end."""
    with closing(forked_deliverer.http()) as webhooks, world.app(parts={"webhooks": webhooks}) as app:
        running = threading.Thread(target=app.runner_by_hand().run_service, args=("notifications",))
        running.start()
        try:
            yield
        finally:
            app.stop.set()
            for endpoint in slow:
                endpoint.closing.set()
            running.join()


def seconds_for(world: FaultWorld, well: WebhookEndpoint, events: int, *slow: WebhookEndpoint) -> float:
    """From the first delivery to the last of so many to the endpoint that is well."""
    before = len(well.heard)
    world.sql(EMIT, events)
    with delivering(world, *slow):
        wait_until(lambda: len(well.heard) > before, "an event")
        began = time.monotonic()
        wait_until(lambda: len(well.heard) >= before + events, "all events", patience=600)
        return time.monotonic() - began


def test_an_endpoint_that_is_well_is_served_as_fast_beside_four_in_trouble_as_alone(
    world: FaultWorld, sized: Sized
) -> None:
    events = sized(10_000, 200)
    with ExitStack() as stack:
        well = stack.enter_context(WebhookEndpoint())
        world.sql(ADD, "well", well.url())
        alone = seconds_for(world, well, events)
        slow = stack.enter_context(WebhookEndpoint(always(Said(after=5))))
        moved = stack.enter_context(WebhookEndpoint(always(Said(301, {"location": well.url()}))))
        gone = stack.enter_context(WebhookEndpoint(always(Said(410))))
        down = stack.enter_context(closed_port())
        for name, endpoint in {"slow": slow, "moved": moved, "gone": gone}.items():
            world.sql(ADD, name, endpoint.url())
        world.sql(ADD, "down", f"http://127.0.0.1:{down}/")
        beside = seconds_for(world, well, events, slow)
        ratio = beside / alone
        print(f"\n{events} events: {alone:.2f} s alone, {beside:.2f} s beside four: {ratio:.2f} times")
        # The others do have work of their own, and a busy machine is no clock: far from 5 s for each event.
        assert beside < 5 * alone + 5
        assert well.repeated == {}
        subjects = [heard.event["subject"] for heard in well.heard]
        assert subjects == [str(n) for n in range(1, events + 1)] * 2
        assert (len(moved.heard), len(gone.heard)) == (1, 1)
    assert world.sql("select name from reaper.webhook_lanes where not enabled") == [("gone",)]


@pytest.mark.ordeal("notification storm", aim="100 kills and 30 crashes", share=1)
def test_processes_and_servers_that_die_between_deliveries_lose_no_event(
    servers: Servers, world: FaultWorld, ordeal: Ordeal
) -> None:
    with WebhookEndpoint() as well:
        world.sql(ADD, "well", well.url())
        strikes = 0
        for _ in ordeal.rounds(short=1):
            world.sql(EMIT, 1_000 if ordeal.long else 150)
            for strike in range(10 if ordeal.long else 3):
                strikes += 1
                storm(servers, world, well, ordeal, crash=strike % 3 == 1)
            with delivering(world):
                wait_until(lambda: not world.sql(WAITING, True), "all delivered", patience=300)
            delivered = {event for (event,) in world.sql(WAITING, False)}
            assert delivered == set(well.ids)
            # What was sent in a second, or a hundred at once, was not recorded when they died.
            assert max([1, *well.repeated.values()]) <= strikes + 1
            ordeal.survived("events", len(delivered))


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
