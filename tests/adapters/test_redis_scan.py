"""Every entry of a cache is found: on a single server in many pages, and on all nodes of a cluster."""

import pytest

from reaper.cache.redis.cache import RedisCache
from reaper.errors import Unreachable
from tests.support.valkey_servers import cluster_of_one, joined, move_slot

CODES = {f"code {number}" for number in range(2500)}


def all_codes(cache: RedisCache) -> set[str]:
    return {code for page in cache.codes() for code in page}


def test_all_entries_are_found_and_keys_of_others_are_not(link, redis_client):
    cache = RedisCache(link, "paste:{short_code}:v1")
    cache.remember(dict.fromkeys(CODES, b"x"))
    redis_client.mset({"paste::v1": "no code", "paste:x:v2": "another", "mine": "too"})
    assert all_codes(cache) == CODES


@pytest.mark.slow
def test_all_nodes_of_a_cluster_are_asked(open_link):
    with cluster_of_one() as first, joined(first) as second:
        cache = RedisCache(open_link(f"redis+cluster://127.0.0.1:{first.port}"))
        move_slot(int(first.cluster("KEYSLOT", "moved")), first, second)
        cache.remember({"moved": b"x", "stayed": b"x"})
        assert all_codes(cache) == {"moved", "stayed"}


def test_a_redis_that_is_away_is_said_to_be_away(open_link, closed_port):
    with pytest.raises(Unreachable, match="Redis does not answer"):
        all_codes(RedisCache(open_link(f"redis://127.0.0.1:{closed_port}/0")))
