"""Workers, operators and the folding of accounts at one queue: the account is right at every instant."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.support.owed_deletions import failures, lease, orphans, queue, settle
from tests.support.paste_fixtures import Connection, Worker, value

# One statement, so one snapshot.
DIFFERENCE = """
select (select coalesce(sum(orphan_bytes), 0) from reaper.byte_deltas)
     - (select coalesce(sum(size_bytes), 0) from reaper.cleanup_queue)
     - (select coalesce(sum(size_bytes), 0) from reaper.cleanup_dlq)
"""
LEFT = "select (select count(*) from reaper.cleanup_queue) + (select count(*) from reaper.cleanup_dlq)"


def clean(worker: Worker, chance: random.Random) -> None:
    """Lease some, and let the store do with each as it likes; the lease may have run out by then."""
    token, objects = lease(worker, chance.randint(1, 40))
    if token is None:
        return
    refused = [each for each in objects if chance.random() < 0.4]
    verdict = chance.choice([{}, {"permanent": True}, {"outage": True}])
    try:
        settle(worker, token, chance.choice([None, failures(refused, "AccessDenied", **verdict)]))
    except psycopg.Error as error:
        if error.sqlstate != "RP001":
            raise


def decide(desk: Connection, chance: random.Random) -> None:
    """Retry most dead letters, write some off."""
    desk.execute("select reaper.retry_dlq(p_limit => %s)", [chance.randint(1, 30)])
    if chance.random() < 0.2:
        desk.execute("select reaper.write_off_dlq(p_limit => 3, p_reason => 'by hand')")


def fold(connection: Connection, _: random.Random) -> None:
    connection.execute("select reaper.fold_accounts()")


def test_the_account_is_what_is_owed_at_every_instant_and_in_the_end_nothing_is(db, worker, connect, clock):
    for number, backend in enumerate(("b1", "b2", "b3")):
        queue(db, backend, 200, size=10 ** (number + 1))
    over = threading.Event()

    def repeat(act: Callable[..., None], place: Worker | Connection, seed: int) -> None:
        chance = random.Random(seed)
        while not over.is_set():
            act(place, chance)

    crew = [(clean, worker(f"w{i}")) for i in range(3)]
    crew += [(decide, connect()), (decide, connect()), (fold, connect())]
    looks, wrong = 0, 0
    with ThreadPoolExecutor(len(crew)) as pool:
        running = [pool.submit(repeat, act, place, seed) for seed, (act, place) in enumerate(crew)]
        while not wrong and value(db, LEFT) and not any(each.done() for each in running):
            looks, wrong = looks + 1, value(db, DIFFERENCE)
            # What was refused comes due again, and now and then a lease runs out in the hands of its holder.
            clock.advance("6 minutes")
        over.set()
    for each in running:
        each.result()
    assert wrong == 0
    assert looks > 0
    assert (value(db, LEFT), orphans(db)) == (0, 0)
