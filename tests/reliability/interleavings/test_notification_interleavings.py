"""Releases that tell of events, processes that deliver them, and operators, in every order of statements."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run, explore
from tests.support.interleavings.scenes import ExploredDatabase, begin, values

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)

RESET = """
    delete from reaper.webhooks;
    delete from reaper.webhook_subscriptions;
    delete from reaper.notification_outbox;
    delete from reaper.delivery_dlq;
    delete from public.sent;
    update reaper.settings set clock_offset = '0';
    select reaper.add_webhook('ops', 'https://example.com/', '{*}');
    select reaper_internal.emit('webhook.test', 'first', '{}');
"""
SENT = "create table public.sent (event_id uuid, who text)"
CLAIM = """
select w.webhook_id as hook, c.lease as lease, c.outbox_id as number, c.event_id as event
  from reaper.webhooks w cross join lateral reaper.claim_deliveries(w.webhook_id, 1) as c
"""
SEND = "insert into public.sent select %(event)s::uuid, '{}' where %(event)s::uuid is not null"
FINISH = """
select reaper.finish_deliveries(
           %(hook)s, %(lease)s,
           jsonb_build_array(jsonb_build_object('outbox_id', %(number)s::bigint, 'status', 204)))
 where %(lease)s::uuid is not null
"""
EMIT = "select reaper_internal.emit('webhook.test', 'second', '{}')"
LOST = """
    select 'an event counts as delivered and was not sent'
      from reaper.notification_outbox o
     where o.delivered_at is not null and not exists (select from public.sent s where s.event_id = o.event_id)
"""


def queued(conn: Connection) -> dict[str, Any]:
    conn.execute(RESET)
    return {}


def leased_long_ago(conn: Connection) -> dict[str, Any]:
    """A process leased the event, and was not heard of for longer than a lease lasts."""
    conn.execute(RESET)
    row = conn.execute(CLAIM).fetchone()
    conn.execute("update reaper.settings set clock_offset = clock_offset + interval '3 minutes'")
    return dict(zip(("hook", "lease", "number", "event"), row or (), strict=True))


def deliverer(name: str) -> Actor:
    return Actor(begin(CLAIM), "commit", SEND.format(name), FINISH)


def found(conn: Connection, _: Run) -> Iterable[str]:
    return [str(problem) for problem in values(conn, LOST)]


def test_two_processes_never_send_the_same_event(database: ExploredDatabase) -> None:
    database.conn.execute(SENT)

    def at_end(conn: Connection, run: Run) -> Iterable[str]:
        yield from found(conn, run)
        if values(conn, "select count(*) from public.sent") != [1]:
            yield "it was not sent once"

    actors = {"one": deliverer("one"), "two": deliverer("two")}
    result = explore(database.connect, actors, reset=queued, at_end=at_end).assert_clean()
    assert database.explored(result) >= 20


def test_a_late_process_records_nothing_beside_the_one_that_has_the_lane_now(
    database: ExploredDatabase,
) -> None:
    database.conn.execute(SENT)
    actors = {"late": Actor(begin(FINISH), "commit"), "next": deliverer("next")}

    def at_end(conn: Connection, run: Run) -> Iterable[str]:
        # Who finished first, before the other claimed, had sent it before the others woke.
        if values(conn, "select count(*) from reaper.notification_outbox where delivered_at is null") != [0]:
            yield "the event was not delivered"
        if sum(outcome.sqlstate == "RP001" for outcome in run.outcomes.values()) > 1:
            yield "both were refused"

    result = explore(database.connect, actors, reset=leased_long_ago, at_end=at_end).assert_clean(
        allow={"RP001"}
    )
    assert database.explored(result) >= 5
    assert result.errors("RP001")


def test_what_tells_of_an_event_waits_for_no_delivery_and_nothing_is_lost(database: ExploredDatabase) -> None:
    database.conn.execute(SENT)

    def at_end(conn: Connection, run: Run) -> Iterable[str]:
        yield from found(conn, run)
        if values(conn, "select count(*) from reaper.notification_outbox where subject = 'second'") != [1]:
            yield "the second event is not queued"

    actors = {
        "teller": Actor(begin(EMIT), "commit"),
        "deliverer": Actor(CLAIM, SEND.format("one"), FINISH),
        "operator": Actor("select reaper.replay_deliveries('ops', p_since => '-infinity')"),
    }
    result = explore(database.connect, actors, reset=queued, at_end=at_end).assert_clean()
    assert database.explored(result) >= 20


def test_a_webhook_that_is_removed_meanwhile_leaves_no_lease_and_no_deadlock(
    database: ExploredDatabase,
) -> None:
    database.conn.execute(SENT)
    actors = {
        "teller": Actor(begin(EMIT), "commit"),
        "deliverer": Actor(CLAIM, SEND.format("one"), FINISH),
        "operator": Actor("select reaper.remove_webhook('ops')"),
    }

    def at_end(conn: Connection, _: Run) -> Iterable[str]:
        conn.execute("select reaper.prune_deliveries()")
        if values(conn, "select count(*) from reaper.notification_outbox") != [0]:
            yield "something of the webhook is left"

    result = explore(database.connect, actors, reset=queued, at_end=at_end).assert_clean(allow={"RP001"})
    assert database.explored(result) >= 20
