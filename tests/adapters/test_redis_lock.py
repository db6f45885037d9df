"""The lock around the claim: it excludes, it runs out, and it is never in the way."""

import threading
from datetime import timedelta

import pytest

from reaper.cache.none import NoClaimLock
from reaper.cache.redis.cache import RedisCache, RedisClaimLock
from tests.support.valkey_servers import cluster_of_one
from tests.support.waiting import wait_until

LONG = timedelta(minutes=1)
NAME = "reaper:claim:db"


def make(link, ttl=LONG, **options):
    return RedisClaimLock(link, "db", ttl, **options)


def test_the_lock_is_held_within_and_free_after(link, redis_client):
    with make(link).hold() as held:
        assert held
        assert 0 < redis_client.pttl(NAME) <= 60_000
    assert not redis_client.exists(NAME)


def test_the_lock_is_free_after_an_error_too(link, redis_client):
    with pytest.raises(ZeroDivisionError), make(link).hold():
        raise ZeroDivisionError
    assert not redis_client.exists(NAME)


@pytest.mark.usefixtures("redis_client")
def test_one_database_does_not_wait_for_another(link):
    with make(link).hold(), RedisClaimLock(link, "other", LONG).hold() as held:
        assert held


@pytest.mark.usefixtures("redis_client")
def test_many_threads_hold_it_one_after_the_other(link):
    inside, most, held = [], [], []
    lock = make(link, patience=100)

    def claim():
        for _ in range(10):
            with lock.hold() as got:
                inside.append(1)
                most.append(len(inside))
                inside.pop()
                held.append(got)

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held == [True] * 80
    assert max(most) == 1


def test_who_waits_gets_it_when_it_is_free(link, redis_client):
    redis_client.set(NAME, "somebody")
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 8:
            redis_client.delete(NAME)

    with make(link, pause=wait).hold() as held:
        assert held
    assert len(waits) == 8
    assert all(0.001 <= seconds <= 0.02 for seconds in waits)


def test_who_waits_too_long_goes_on_without_it_and_does_not_wait_again(link, redis_client, clock):
    redis_client.set(NAME, "somebody")
    waits = []

    def wait(seconds):
        waits.append(seconds)
        clock.now += 0.5

    lock = make(link, patience=2, pause=wait, clock=clock)
    with lock.hold() as held:
        assert not held
    assert len(waits) == 4
    with lock.hold() as held:
        assert not held
    assert len(waits) == 4
    assert redis_client.get(NAME) == "somebody"
    redis_client.delete(NAME)
    with lock.hold() as held:
        assert held
    redis_client.set(NAME, "somebody")
    with lock.hold() as held:
        assert not held
    assert len(waits) == 8


def test_a_lock_that_ran_out_while_held_is_left_to_its_next_holder(link, redis_client):
    with make(link, ttl=timedelta(milliseconds=20)).hold() as held:
        assert held
        wait_until(lambda: not redis_client.exists(NAME))
        redis_client.set(NAME, "somebody")
    assert redis_client.get(NAME) == "somebody"


def test_a_server_that_forgot_its_scripts_releases_all_the_same(link, redis_client):
    with make(link).hold():
        redis_client.script_flush()
    assert not redis_client.exists(NAME)


def test_without_redis_the_claim_goes_on_at_once(open_link, closed_port, words):
    link = open_link(f"redis://127.0.0.1:{closed_port}")
    for _ in range(3):
        with make(link).hold() as held:
            assert not held
    assert len(words.said) == 1


def test_what_the_cache_found_out_the_lock_need_not(open_link, silence):
    link = open_link(f"redis://127.0.0.1:{silence.port}", timeout=0.2)
    RedisCache(link).forget(["a"])
    asked = len(silence.connections)
    with make(link).hold() as held:
        assert not held
    assert len(silence.connections) == asked


def test_a_lock_whose_redis_goes_away_meanwhile_ends_quietly(open_link, valkey, redis_client, monkeypatch):
    link = open_link(valkey.url)
    with make(link).hold() as held:
        assert held
        monkeypatch.setattr(link, "_client", open_link("redis://127.0.0.1:1")._connected())
    assert redis_client.exists(NAME)


def test_a_redis_that_refuses_the_lock_is_said_once_and_the_cache_goes_on(
    open_link, valkey, redis_client, words
):
    redis_client.execute_command("ACL", "SETUSER", "half", "on", ">secret", "+@all", "~p*")
    try:
        link = open_link(f"redis://half:secret@127.0.0.1:{valkey.port}/0")
        with make(link).hold() as held:
            assert not held
        assert RedisCache(link).forget(["p1"]) == {}
        assert [said[:2] for said in words.said] == [("degraded", "claim lock")]
    finally:
        redis_client.execute_command("ACL", "DELUSER", "half")


def test_a_cluster_has_the_lock_too(open_link):
    with cluster_of_one() as node:
        link = open_link(f"redis+cluster://127.0.0.1:{node.port}")
        with make(link).hold() as held, make(link, patience=0).hold() as second:
            assert (held, second) == (True, False)
        with make(link).hold() as held:
            assert held


def test_without_redis_nobody_competes():
    with NoClaimLock().hold() as held:
        assert held
