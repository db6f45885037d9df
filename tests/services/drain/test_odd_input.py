"""Settings that are wrong and rows that are odd: said plainly, or simply drained."""

from collections.abc import Callable

import pytest

from tests.support.world import World


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("REAPER_S3_ENDPOINT_URL", "foo"),
        ("REAPER_REDIS_URL", "nonsense"),
        ("REAPER_CACHE_KEY", "no code in it"),
        ("REAPER_CLAIM_LOCK_TTL", "a while"),
    ],
)
def test_a_setting_that_is_wrong_is_never_replaced_by_its_default(
    world: World, populate: Callable[..., None], variable: str, value: str
) -> None:
    populate(due=3, live=0, contents=3)
    world.extra[variable] = value
    done = world.command("drain")
    assert done.returncode == 4
    assert done.stderr.startswith(f"reaper: {variable}")
    assert "Traceback" not in done.stderr
    assert world.value("select reaper.count_due()") == 3


def test_a_bucket_name_that_cannot_be_one_is_a_matter_of_configuration(world: World) -> None:
    world.extra["REAPER_S3_BUCKET"] = "Bad Bucket!"
    done = world.command("drain")
    assert done.returncode == 4
    assert "REAPER_S3_BUCKET" in done.stderr


@pytest.mark.slow
def test_pastes_that_expired_before_all_time_and_have_odd_codes_are_drained(world: World) -> None:
    codes = ["", " ", "'; drop table pastes; --", "a\nb", "ü€𝄞", '"{}"', "%s", "x" * 500]
    world.sql(
        "insert into content (content_hash, object_key, ref_count) values ('h', 'h', %s)", len(codes) + 1
    )
    world.put(["h"])
    for code in codes:
        world.sql("insert into pastes values (%s, 'h', now(), '-infinity')", code)
        world.cache().set(f"paste:{code}", "cached")
    world.sql("insert into pastes values ('for ever', 'h', now(), 'infinity')")
    for reading in (["status"], ["status", "--json"], ["plan"]):
        assert world.command(*reading).returncode in (0, 1, 3), reading
    world.drain(batch_size=3)
    world.judge()
    assert world.sql("select short_code from pastes") == [("for ever",)]
    assert world.cached() == set()


@pytest.mark.slow
def test_sizes_beyond_all_measure_do_not_stop_a_drain(world: World) -> None:
    largest = 2**63 - 1
    world.sql(
        "insert into content (content_hash, object_key, ref_count, size_bytes)"
        " select h, h, 1, %s from unnest('{a,b}'::text[]) h",
        largest,
    )
    world.put(["a", "b"])
    world.sql("insert into pastes select h, h, now(), now() from unnest('{a,b}'::text[]) h")
    assert world.command("plan").returncode == 0
    world.drain()
    world.judge()
    assert world.value("select bytes_freed from reaper.runs") == largest
