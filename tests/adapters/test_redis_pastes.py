"""Cached pastes: found until their end, never after it, whatever a reader does between its steps."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from reaper.cache.none import NoPasteCache
from reaper.cache.redis import paste_cache
from reaper.cache.redis.cache import RedisCache
from reaper.cache.redis.key_names import TOMBSTONE_LIFE_MS, KeyNames
from reaper.cache.redis.paste_cache import LONGEST_LIFE, OLDEST_TICKET, RedisPasteCache
from reaper.dev.embedded import Valkey
from reaper.errors import ConfigError
from reaper.model import CacheRead
from tests.support.valkey_servers import cluster_of_one, stopped
from tests.support.waiting import wait_until

MINUTE = 60_000
HOUR = 60 * MINUTE
SHORT = {"timeout": 0.2, "connect_timeout": 0.2}


@pytest.fixture
def pastes(link, redis_client):
    """On a server that is empty at first."""
    redis_client.flushall()
    return RedisPasteCache(link, "paste:{short_code}")


def ms(span):
    return round(span.total_seconds() * 1000)


def test_what_was_filled_is_found(pastes):
    missed = pastes.read("a")
    assert missed.data is None
    assert pastes.fill("a", b"\0bytes\xff", missed.ticket, HOUR)
    assert pastes.read("a").data == b"\0bytes\xff"


@pytest.mark.parametrize("data", [b"", b"x" * 1_000_000], ids=["no bytes", "a megabyte"])
def test_size_does_not_matter(pastes, data):
    assert pastes.fill("a", data, pastes.read("a").ticket, HOUR)
    assert pastes.read("a").data == data


def test_a_ticket_is_the_servers_time_in_milliseconds(pastes, redis_client):
    before = redis_client.time()
    ticket = pastes.read("a").ticket
    after = redis_client.time()
    assert before[0] * 1000 + before[1] // 1000 <= ticket <= after[0] * 1000 + after[1] // 1000


def test_an_entry_ends_when_ticket_and_remaining_life_say_so_however_late_it_is_filled(pastes, redis_client):
    ticket = pastes.read("a").ticket
    assert pastes.fill("a", b"x", ticket - 20_000, 30_000)
    assert 0 < redis_client.pttl("paste:a") <= 10_000
    assert redis_client.execute_command("PEXPIRETIME", "paste:a") <= ticket + 10_000


def test_an_entry_is_not_found_after_the_end_of_its_paste(pastes):
    ticket = pastes.read("a").ticket
    assert pastes.fill("a", b"x", ticket, 150)
    wait_until(lambda: pastes.read("a").ticket >= ticket + 150)
    assert pastes.read("a").data is None


def test_a_fill_after_the_end_of_the_paste_is_refused(pastes, redis_client):
    ticket = pastes.read("a").ticket
    assert not pastes.fill("a", b"x", ticket - 5_000, 5_000)
    assert not pastes.fill("a", b"x", ticket, 0)
    assert not pastes.fill("a", b"x", ticket, -MINUTE)
    assert redis_client.keys() == []


def test_a_fill_with_an_old_ticket_is_refused(pastes, redis_client):
    ticket = pastes.read("a").ticket
    assert not pastes.fill("a", b"x", ticket - ms(OLDEST_TICKET) - 1, HOUR)
    assert redis_client.keys() == []


def test_a_fill_with_a_ticket_from_the_future_is_refused_since_a_clock_was_set_back(pastes, redis_client):
    assert not pastes.fill("a", b"x", pastes.read("a").ticket + MINUTE, HOUR)
    assert redis_client.keys() == []


@pytest.mark.parametrize("remaining", [None, 365 * 24 * HOUR])
def test_no_entry_lives_longer_than_an_hour(pastes, redis_client, remaining):
    assert pastes.fill("a", b"x", pastes.read("a").ticket, remaining)
    assert 0 < redis_client.pttl("paste:a") <= ms(LONGEST_LIFE)


def test_a_late_fill_after_a_drop_is_refused(pastes, redis_client):
    ticket = pastes.read("a").ticket
    assert pastes.drop("a")
    assert not pastes.fill("a", b"x", ticket, HOUR)
    assert pastes.read("a").data is None
    assert redis_client.keys() == ["reaper:gone:{paste:a}"]


def test_a_drop_takes_the_entry_of_whoever_filled_before_it(pastes):
    assert pastes.fill("a", b"x", pastes.read("a").ticket, HOUR)
    assert pastes.drop("a")
    assert pastes.read("a").data is None


def test_a_tombstone_stands_longer_than_a_ticket_is_good_for_and_then_goes(pastes, redis_client):
    assert ms(OLDEST_TICKET) < TOMBSTONE_LIFE_MS
    pastes.drop("a")
    assert ms(OLDEST_TICKET) < redis_client.pttl("reaper:gone:{paste:a}") <= TOMBSTONE_LIFE_MS


def test_what_the_worker_drops_for_good_cannot_be_filled_and_what_it_forgets_can(pastes, link, redis_client):
    cache = RedisCache(link, "paste:{short_code}")
    tickets = {code: pastes.read(code).ticket for code in ("early", "expired", "{odd}")}
    redis_client.mset({"paste:early": 1, "paste:expired": 1, "paste:{odd}": 1})
    assert cache.drop(["early", "{odd}"]) == {}
    assert cache.forget(["expired"]) == {}
    assert not pastes.fill("early", b"x", tickets["early"], HOUR)
    assert pastes.fill("expired", b"x", tickets["expired"], HOUR)
    assert set(redis_client.keys()) == {"paste:expired", "reaper:gone:{paste:early}"}


@pytest.mark.usefixtures("redis_client")
def test_tombstones_are_no_entries(link):
    for key in ("{short_code}", "paste:{short_code}", "{short_code}{tag}"):
        RedisPasteCache(link, key).drop("gone")
        cache = RedisCache(link, key)
        assert [code for page in cache.codes() for code in page] == []


def test_scripts_that_the_server_forgot_are_no_matter(pastes, redis_client):
    assert pastes.fill("a", b"x", pastes.read("a").ticket, HOUR)
    redis_client.script_flush()
    assert pastes.read("a").data == b"x"
    redis_client.script_flush()
    assert pastes.fill("a", b"y", pastes.read("a").ticket, HOUR)


def test_a_flushed_server_has_nothing_and_is_filled_again(pastes, redis_client):
    assert pastes.fill("a", b"x", pastes.read("a").ticket, HOUR)
    redis_client.flushall()
    missed = pastes.read("a")
    assert missed.data is None
    assert pastes.fill("a", b"x", missed.ticket, HOUR)


@pytest.mark.parametrize("code", ["ü€𝄞", " ", "a\nb\0c", "x" * 500, "paste:"])
def test_odd_codes_are_cached(pastes, code):
    assert pastes.fill(code, b"x", pastes.read(code).ticket, HOUR)
    assert pastes.read(code).data == b"x"
    assert pastes.drop(code)
    assert pastes.read(code).data is None


@pytest.mark.parametrize("code", ["{a}", "a}b", "{", "a{}b"])
def test_codes_with_braces_are_not_cached(pastes, redis_client, code):
    assert pastes.read(code) == CacheRead(None, None)
    assert not pastes.fill(code, b"x", 0, HOUR)
    redis_client.set(f"paste:{code}", "an application's own")
    assert pastes.drop(code)
    assert redis_client.keys() == []


def test_a_code_that_looks_like_one_of_our_names_is_not_cached(link):
    assert RedisPasteCache(link).read("reaper:claim:db") == CacheRead(None, None)


@pytest.mark.parametrize("key", ["reaper:{short_code}", "a}:{short_code}", "{}{short_code}"])
def test_a_template_under_which_nothing_could_be_cached_is_refused(link, key):
    with pytest.raises(ConfigError, match="REAPER_CACHE_KEY"):
        RedisPasteCache(link, key)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "key", ["{short_code}", "paste:{short_code}:v1", "{{short_code}}:v1", "{p}:{short_code}"]
)
def test_entry_and_tombstone_share_a_slot(key):
    names = KeyNames(key)
    with cluster_of_one() as node:
        for code in ("a", "ü€", " "):
            slots = {node.cluster("KEYSLOT", name) for name in (names.entry(code), names.tombstone(code))}
            assert len(slots) == 1


def test_a_cluster_caches_and_drops_pastes_of_all_slots(open_link):
    with cluster_of_one() as node:
        link = open_link(f"redis+cluster://127.0.0.1:{node.port}")
        pastes, cache = RedisPasteCache(link), RedisCache(link)
        codes = [str(n) for n in range(50)]
        for code in codes:
            assert pastes.fill(code, code.encode(), pastes.read(code).ticket, HOUR)
        tickets = {code: pastes.read(code).ticket for code in codes}
        assert [pastes.read(code).data for code in codes] == [code.encode() for code in codes]
        assert cache.drop(codes[1:]) == {}
        assert pastes.drop(codes[0])
        assert not any(pastes.fill(code, b"x", tickets[code], HOUR) for code in codes)
        assert [code for page in cache.codes() for code in page] == []


def test_a_redis_that_is_away_finds_nothing_keeps_nothing_and_is_said_to_be_away_once(
    open_link, closed_port, words
):
    pastes = RedisPasteCache(open_link(f"redis://127.0.0.1:{closed_port}"))
    assert pastes.read("a") == CacheRead(None, None)
    assert not pastes.fill("a", b"x", 1, HOUR)
    assert not pastes.drop("a")
    assert [said[0] for said in words.said] == ["degraded"]


def test_a_hanging_redis_costs_one_timeout(open_link, silence):
    pastes = RedisPasteCache(open_link(f"redis://127.0.0.1:{silence.port}", **SHORT))
    assert pastes.read("a") == CacheRead(None, None)
    asked = len(silence.connections)
    for _ in range(100):
        assert pastes.read("a") == CacheRead(None, None)
    assert len(silence.connections) == asked


def test_a_ticket_from_before_an_outage_fills_nothing_that_was_dropped_during_it(open_link, clock):
    with Valkey.start() as valkey:
        pastes = RedisPasteCache(open_link(valkey.url, **SHORT))
        ticket = pastes.read("a").ticket
        with stopped(valkey):
            assert not pastes.drop("a")
        clock.now = 100
        # PostgreSQL remembers that the drop is owed; whoever pays it does so before or after a late fill.
        pastes.fill("a", b"x", ticket, HOUR)
        assert pastes.drop("a")
        assert pastes.read("a").data is None
        assert not pastes.fill("a", b"x", ticket, HOUR)


def test_a_full_server_keeps_nothing_more_and_what_could_not_be_buried_is_owed(open_link, words):
    with Valkey.start() as full, redis.Redis.from_url(full.url) as client:
        link = open_link(full.url)
        pastes, cache = RedisPasteCache(link), RedisCache(link)
        client.set("a", 1)
        client.config_set("maxmemory", "1")
        missed = pastes.read("b")
        assert not pastes.fill("b", b"x", missed.ticket, HOUR)
        assert ("degraded", paste_cache.SERVICE) in [said[:2] for said in words.said]
        assert "maxmemory" in cache.drop(["a"])["a"]
        assert not pastes.drop("a")
        assert pastes.read("a").data is None


def test_what_another_program_keeps_under_the_name_is_left_alone(pastes, redis_client):
    redis_client.hset("paste:a", "field", "value")
    assert pastes.read("a").data is None
    assert redis_client.hgetall("paste:a") == {"field": "value"}


def test_threads_that_fill_and_drop_leave_nothing_once_it_is_dropped(pastes):
    dropped = threading.Event()

    def fill_again_and_again(_):
        while not dropped.is_set():
            missed = pastes.read("a")
            pastes.fill("a", b"x", missed.ticket, HOUR)
        return pastes.read("a").data

    with ThreadPoolExecutor(4) as pool:
        readers = pool.map(fill_again_and_again, range(4))
        wait_until(lambda: pastes.read("a").data is not None)
        assert pastes.drop("a")
        dropped.set()
        assert set(readers) == {None}


def test_without_redis_nothing_is_cached():
    nothing = NoPasteCache()
    assert nothing.read("a") == CacheRead(None, None)
    assert not nothing.fill("a", b"x", 1, None)
    assert nothing.drop("a")
