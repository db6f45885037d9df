"""Nothing is served more than a second after its end, however long readers pause between their steps."""

import pytest

from reaper.cache.redis.cache import RedisConnection
from reaper.cache.redis.paste_cache import RedisPasteCache
from reaper.telemetry.events import Telemetry
from tests.support.ordeals import Ordeal
from tests.support.paused_readers import PausedReaders
from tests.support.world import CACHE_KEY, World

READS = 4000


@pytest.mark.ordeal("paused readers", aim="100,000 cached reads, none served a second after its end", share=2)
def test_paused_readers_are_served_nothing_a_second_after_it_expired_or_was_deleted(
    world: World, ordeal: Ordeal
) -> None:
    readers = PausedReaders(world, ordeal.seed)
    readers.run(10**9 if ordeal.long else READS, until=lambda _: ordeal.long and not ordeal.left)
    print(readers.figures)
    for what, times in readers.seen.items():
        ordeal.survived(what, times)
    assert readers.violations == []
    assert readers.seen["hits"] > 0
    assert readers.seen["fills refused"] > 0, "nobody was ever late, so nothing was tested"
    assert world.sql("select * from reaper.check_invariants()") == []


class WithoutTombstones(RedisPasteCache):
    """Drops entries and lets whoever is late bring them back."""

    def drop(self, code: str) -> bool:
        return bool(self._redis.ask(lambda client: client.delete(self._names.entry(code)))) or True


class WithoutTickets(RedisPasteCache):
    """Lets entries live as long as PostgreSQL said, counted from whenever they are filled."""

    def fill(self, code: str, data: bytes, ticket: int, remaining_ms: int | None) -> bool:  # noqa: ARG002
        entry = self._names.entry(code)
        self._redis.ask(lambda client: client.set(entry, data, px=remaining_ms or 3_600_000))
        return True


@pytest.mark.slow
@pytest.mark.parametrize("cache", [WithoutTombstones, WithoutTickets])
def test_the_judge_notices_a_cache_that_forgets_one_half_of_it(
    world: World, cache: type[RedisPasteCache]
) -> None:
    link = RedisConnection(world.redis_url, Telemetry())
    readers = PausedReaders(world, 5, cache(link, CACHE_KEY))
    readers.run(100_000, until=lambda readers: bool(readers.violations))
    link.close()
    assert readers.violations != []
