"""The cache: entries go, and a Redis that is away costs one timeout."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from reaper.cache.none import NoCache
from reaper.cache.redis.cache import RedisCache
from reaper.dev.embedded import Valkey
from reaper.errors import ConfigError, Unreachable
from tests.support.valkey_servers import TunedValkey, cluster_of_one, joined, move_slot, sentinel_for, stopped

SHORT = {"timeout": 0.2, "connect_timeout": 0.2}


@pytest.fixture
def cache(link):
    return RedisCache(link)


def commands_since_reset(client):
    return {
        name.removeprefix("cmdstat_"): stat["calls"] for name, stat in client.info("commandstats").items()
    }


def test_forgotten_entries_are_gone_and_others_stay(cache, redis_client):
    redis_client.mset({"a": 1, "b": 2, "c": 3})
    assert cache.forget(["a", "c", "absent", "a"]) == {}
    assert redis_client.keys() == ["b"]


def test_nothing_to_forget_is_no_question(open_link, closed_port, words):
    assert RedisCache(open_link(f"redis://127.0.0.1:{closed_port}")).forget([]) == {}
    assert words.said == []


def test_the_key_is_made_from_the_template_and_codes_may_look_like_one(link, redis_client):
    redis_client.mset({"paste:a:v1": 1, "paste:{x}:v1": 2, "paste:%s:v1": 3, "a": 4})
    assert RedisCache(link, "paste:{short_code}:v1").forget(["a", "{x}", "%s"]) == {}
    assert redis_client.keys() == ["a"]


def test_many_codes_go_in_few_round_trips_by_unlink(cache, redis_client):
    codes = [f"{n:04d}" for n in range(2500)]
    redis_client.mset(dict.fromkeys(codes, 1))
    redis_client.config_resetstat()
    assert cache.forget(codes) == {}
    assert redis_client.dbsize() == 0
    calls = commands_since_reset(redis_client)
    assert calls["unlink"] == 3
    assert "del" not in calls
    assert "multi" not in calls


def test_a_server_without_unlink_gets_del_from_then_on(open_link):
    with TunedValkey("--rename-command", "UNLINK", "") as old, redis.Redis.from_url(old.url) as client:
        client.mset({"a": 1, "b": 2, "c": 3})
        cache = RedisCache(open_link(old.url))
        assert cache.forget(["a", "b"]) == {}
        assert cache.forget(["c"]) == {}
        assert client.keys() == []
        assert commands_since_reset(client)["del"] == 3


def test_an_entry_that_redis_refuses_to_drop_fails_alone(open_link, redis_client, valkey, words):
    redis_client.mset({"mine": 1, "theirs": 2})
    redis_client.execute_command("ACL", "SETUSER", "half", "on", ">secret", "+@all", "~mine", "~other*")
    try:
        url = f"redis://half:secret@127.0.0.1:{valkey.port}/0"
        failed = RedisCache(open_link(url)).forget(["mine", "theirs", "other"])
        assert failed.keys() == {"theirs"}
        assert "permission" in failed["theirs"].lower()
        assert redis_client.keys() == ["theirs"]
        assert words.said == []
    finally:
        redis_client.execute_command("ACL", "DELUSER", "half")


def test_present_tells_which_codes_have_an_entry(cache, redis_client):
    redis_client.mset({"a": 1, "c": 2})
    assert cache.present(["a", "b", "c"]) == ["a", "c"]
    assert cache.present([]) == []


def test_the_codes_of_all_entries_are_found_and_the_lock_is_none(link, redis_client):
    redis_client.mset({f"paste:{n}": 1 for n in range(1500)} | {"reaper:claim:db": 1, "else": 2})
    codes = {code for page in RedisCache(link, "paste:{short_code}").codes() for code in page}
    assert codes == {str(n) for n in range(1500)}
    assert "reaper:claim:db" not in {code for page in RedisCache(link).codes() for code in page}


def test_a_redis_that_is_not_there_fails_all_codes_and_is_said_to_be_away(open_link, closed_port, words):
    cache = RedisCache(open_link(f"redis://127.0.0.1:{closed_port}"))
    assert cache.forget(["a", "b"]) == dict.fromkeys(["a", "b"], "no connection")
    assert words.said == [("degraded", "redis", f"127.0.0.1:{closed_port}: no connection")]
    with pytest.raises(Unreachable, match="does not answer: no connection"):
        cache.check()
    with pytest.raises(Unreachable):
        cache.present(["a"])
    with pytest.raises(Unreachable):
        list(cache.codes())


def test_a_hanging_redis_is_asked_once_and_then_not_before_the_cool_down(open_link, silence, clock):
    cache = RedisCache(open_link(f"redis://127.0.0.1:{silence.port}", cool_down=15, **SHORT))
    codes = [f"{n:04d}" for n in range(2500)]
    assert cache.forget(codes) == dict.fromkeys(codes, "no answer in time")
    asked = len(silence.connections)
    for _ in range(1000):
        assert cache.forget(["a"]) == {"a": "no answer in time"}
    assert len(silence.connections) == asked
    clock.now = 20
    assert cache.forget(["a"]) == {"a": "no answer in time"}
    assert len(silence.connections) > asked
    asked = len(silence.connections)
    assert cache.forget(["a"]) == {"a": "no answer in time"}
    assert len(silence.connections) == asked


def test_after_the_cool_down_one_caller_tries_and_the_others_do_not_wait(open_link, silence, clock):
    cache = RedisCache(open_link(f"redis://127.0.0.1:{silence.port}", **SHORT))
    cache.forget(["a"])
    asked = len(silence.connections)
    clock.now = 20
    with ThreadPoolExecutor(8) as pool:
        failed = list(pool.map(cache.forget, [["a"]] * 8))
    assert failed == [{"a": "no answer in time"}] * 8
    assert len(silence.connections) == asked + 1


def test_a_server_that_stops_and_goes_on_is_used_again(open_link, clock, words):
    with Valkey.start() as valkey, redis.Redis.from_url(valkey.url) as client:
        cache = RedisCache(open_link(valkey.url, **SHORT))
        client.set("a", 1)
        assert cache.forget(["warm"]) == {}
        with stopped(valkey):
            assert cache.forget(["a"]) == {"a": "no answer in time"}
        assert cache.forget(["a"]) == {"a": "no answer in time"}
        clock.now = 100
        assert cache.forget(["a"]) == {}
        assert client.keys() == []
    assert [said[:2] for said in words.said] == [("degraded", "redis"), ("recovered", "redis")]


def test_a_restarted_server_is_no_reason_to_stumble(open_link, redis_client, valkey, words):
    cache = RedisCache(open_link(valkey.url))
    assert cache.forget(["a"]) == {}
    redis_client.client_kill_filter(_type="normal", skipme=True)
    assert cache.forget(["a"]) == {}
    assert words.said == []


def test_a_check_asks_even_during_the_cool_down_and_ends_it(open_link, words):
    with Valkey.start() as valkey:
        cache = RedisCache(open_link(valkey.url, **SHORT))
        with stopped(valkey):
            cache.forget(["a"])
        cache.check()
        assert cache.forget(["a"]) == {}
    assert words.said[-1] == ("recovered", "redis")


def test_a_wrong_password_is_named_with_what_to_do_and_never_shown(open_link, valkey, words):
    cache = RedisCache(open_link(f"redis://nobody:canary@127.0.0.1:{valkey.port}/0"))
    with pytest.raises(ConfigError, match="login refused") as caught:
        cache.check()
    assert "REAPER_REDIS_URL" in caught.value.hint
    failed = cache.forget(["a"])
    assert failed == {"a": "login refused"}
    assert "canary" not in repr(
        [caught.value, caught.value.hint, failed, words.said, cache._redis, cache._redis._address]
    )


def test_a_database_that_does_not_exist_is_refused_in_the_servers_words(open_link, valkey):
    cache = RedisCache(open_link(f"redis://127.0.0.1:{valkey.port}/99"))
    with pytest.raises(ConfigError, match="refuses the command"):
        cache.check()
    assert cache.forget(["a"]).keys() == {"a"}


def test_a_unix_socket_will_do(open_link, tmp_path):
    place = tmp_path / "s"
    with TunedValkey("--unixsocket", str(place)) as valkey, redis.Redis.from_url(valkey.url) as client:
        client.set("a", 1)
        assert RedisCache(open_link(f"unix://{place}?db=0")).forget(["a"]) == {}
        assert client.keys() == []


def test_a_cluster_forgets_keys_of_all_slots(open_link):
    with cluster_of_one() as node:
        codes = [str(n) for n in range(50)]
        for code in codes:
            node.client.set(code, 1)
        cache = RedisCache(open_link(f"redis+cluster://127.0.0.1:{node.port}"))
        cache.check()
        assert cache.present([*codes[:3], "absent"]) == codes[:3]
        assert {code for page in cache.codes() for code in page} == set(codes)
        assert cache.forget(codes) == {}
        assert node.client.keys() == []


def test_a_cluster_that_hangs_costs_one_timeout_for_all_keys(open_link, clock):
    with cluster_of_one() as node:
        cache = RedisCache(open_link(f"redis+cluster://127.0.0.1:{node.port}", **SHORT))
        assert cache.forget(["warm"]) == {}
        codes = [str(n) for n in range(1000)]
        with stopped(node):
            assert cache.forget(codes).keys() == set(codes)
        clock.now = 100
        assert cache.forget(codes) == {}


def test_a_key_that_has_moved_to_another_node_is_followed(open_link):
    with cluster_of_one() as first, joined(first) as second:
        cache = RedisCache(open_link(f"redis+cluster://127.0.0.1:{first.port}"))
        assert cache.forget(["moves", "stays"]) == {}
        move_slot(int(first.cluster("KEYSLOT", "moves")), first, second)
        first.client.set("stays", 1)
        second.client.set("moves", 1)
        assert cache.forget(["moves", "stays"]) == {}
        assert (first.client.dbsize(), second.client.dbsize()) == (0, 0)


def test_a_cluster_that_is_not_there_is_away(open_link, closed_port, words):
    cache = RedisCache(open_link(f"redis+cluster://127.0.0.1:{closed_port}"))
    assert cache.forget(["a"]) == {"a": "no node of the cluster answers"}
    assert len(words.said) == 1


def test_sentinel_leads_to_the_primary(open_link, valkey, redis_client):
    redis_client.set("a", 1)
    with sentinel_for(valkey) as port:
        cache = RedisCache(open_link(f"redis+sentinel://127.0.0.1:{port}/pastes/0"))
        cache.check()
        assert cache.forget(["a"]) == {}
        assert redis_client.keys() == []
        unknown = RedisCache(open_link(f"redis+sentinel://127.0.0.1:{port}/others/0"))
        assert unknown.forget(["a"]) == {"a": "Sentinel knows no primary"}


def test_without_redis_there_is_nothing_to_forget():
    nothing = NoCache()
    nothing.check()
    assert (nothing.forget(["a"]), nothing.present(["a"]), list(nothing.codes())) == ({}, (), [])


def test_a_check_tries_what_is_done_and_leaves_nothing(valkey, open_link):
    with redis.Redis.from_url(valkey.url) as client:
        client.flushall()
        RedisCache(open_link(valkey.url), "paste:{short_code}").check()
        assert client.keys() == []


def test_a_replica_that_answers_ping_is_named_with_the_remedy(open_link):
    with TunedValkey("--replicaof", "127.0.0.1", "1") as replica:
        with pytest.raises(ConfigError, match="read-only replica: it refuses SET NX") as caught:
            RedisCache(open_link(replica.url)).check()
        assert "address of the primary" in (caught.value.hint or "")


@pytest.mark.parametrize(("command", "step"), [("SET", "SET NX"), ("EVAL", "EVAL")])
def test_a_server_without_a_command_that_is_needed_is_refused(open_link, command, step):
    refused = pytest.raises(ConfigError, match=f"Redis refuses {step}: unknown command")
    with TunedValkey("--rename-command", command, "") as server, refused:
        RedisCache(open_link(server.url)).check()


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("-set", "SET NX"),
        ("-eval", "EVAL"),
        ("-unlink", "UNLINK"),
        ("resetkeys ~paste:*", "SET NX"),
        ("resetkeys ~reaper:*", "UNLINK"),
    ],
)
def test_a_login_without_a_right_is_told_which_one_and_how_to_get_it(valkey, open_link, rule, command):
    with redis.Redis.from_url(valkey.url) as client:
        client.execute_command("ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", *rule.split())
        try:
            url = valkey.url.replace("redis://", "redis://limited:secret@")
            with pytest.raises(ConfigError, match=f"may not use {command} in Redis") as caught:
                RedisCache(open_link(url), "paste:{short_code}").check()
            assert "ACL SETUSER <login> ~reaper:* ~paste:*" in (caught.value.hint or "")
        finally:
            client.execute_command("ACL", "DELUSER", "limited")
