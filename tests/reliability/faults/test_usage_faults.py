"""What S3 saw is what PostgreSQL says, whoever is killed, whatever Redis forgets, while the month turns."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
import redis

from reaper.services import usage_flush
from tests.support import forked_s3_user
from tests.support.forked_processes import preload
from tests.support.forked_s3_user import process_of
from tests.support.ordeals import Ordeal
from tests.support.ports import closed_port
from tests.support.process_faults import ProcessFault
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3, Used
from tests.support.service_ticks import context
from tests.support.valkey_servers import TunedValkey
from tests.support.world import World

AT_ONCE = 4
PROCESSES = 14
MOMENTS = ("before", "after", "lost")
POINTS = ("flush_usage", "usage.publish", "now")
TO_THE_END_OF_MONTH = """
select date_trunc('month', (reaper.clock() + interval '1 month') at time zone 'UTC')
       - reaper.clock() at time zone 'UTC'
       - interval '5 minutes'
"""
REQUESTS = "requests_read + requests_write + requests_list + requests_delete"
BY_PROCESS = f"""
select process, sum({REQUESTS})::bigint, sum(ingress)::bigint, sum(egress)::bigint
  from reaper.usage_processes group by process
"""
IN_ALL = "select sum(requests)::bigint, sum(ingress)::bigint, sum(egress)::bigint from reaper.usage"

preload(forked_s3_user)


@pytest.fixture
def forgetful() -> Iterator[TunedValkey]:
    """A Valkey that loads an old dump when it is asked to."""
    with TunedValkey("--enable-debug-command", "yes") as running:
        yield running


@dataclass
class Storm:
    """Processes that use buckets of their own, so that the double knows what each one used."""

    world: World
    server: ScriptedS3
    ordeal: Ordeal
    away: str
    users: list[tuple[str, bool]] = field(default_factory=list)
    turned: bool = False

    def run(self, processes: int) -> None:
        running = []
        with self.world.app() as app, redis.Redis.from_url(self.world.redis_url) as client:
            # It may be away since the round before.
            with suppress(redis.ConnectionError):
                client.save()
            tick = context(app)
            while self.users == [] or running or processes:
                while processes and len(running) < AT_ONCE:
                    running.append(self.hatch())
                    # As many again in the next month.
                    processes -= self.turned or processes > PROCESSES // 2
                self.happen(client)
                usage_flush.tick(tick)
                self.turn_the_month()
                running = [each for each in running if not self.is_over(*each)]
            usage_flush.tick(tick)

    def turn_the_month(self) -> None:
        """Once somebody's usage of the old one is known, whatever others have not told yet."""
        if not self.turned and self.world.value("select exists (select from reaper.usage_processes)"):
            self.world.advance_clock("5 minutes")
            self.turned = True

    def hatch(self):
        number = len(self.users)
        bucket, chance = f"bucket-{number}", self.ordeal.chance
        self.server.buckets.add(bucket)
        fate = chance.choice(["fault", "fault", "killed", "well"])
        moment, point, nth = chance.choice(MOMENTS), chance.choice(POINTS), chance.randrange(1, 6)
        nth = 1 if point == "now" else nth
        fault = ProcessFault(moment, point, nth=nth) if fate == "fault" else None
        extra = {"REAPER_S3_BUCKET": bucket}
        if chance.random() < 0.2:
            extra["REAPER_REDIS_URL"] = self.away
            self.ordeal.survived("without Redis")
        wiring = type(self.world.wiring)({**self.world.variables, **extra})
        requests = chance.randrange(20, 80)
        process = self.world.fork(
            forked_s3_user.main, wiring, str(self.identity(bucket)), requests, chance.random(), fault
        )
        until = time.monotonic() + chance.uniform(0.3, 1.5) if fate == "killed" else None
        self.users.append((bucket, fate == "well" or (fault is not None and moment == "lost")))
        return process, until

    def is_over(self, process, until) -> bool:
        if until is not None and time.monotonic() >= until and process.is_alive():
            process.kill()
            self.ordeal.survived("kills")
        process.join(0.01)
        return not process.is_alive()

    def happen(self, client: redis.Redis) -> None:
        with suppress(redis.ConnectionError):
            self.happen_to(client)

    def happen_to(self, client: redis.Redis) -> None:
        what = self.ordeal.chance.random()
        if what < 0.02:
            # Away for a moment, and back with what it had saved last.
            self.ordeal.survived("crashes of Redis")
            client.execute_command("DEBUG", "CRASH-AND-RECOVER", "300")
        elif what < 0.04:
            client.flushall()
            self.ordeal.survived("flushes of Redis")
        elif what < 0.06:
            client.execute_command("DEBUG", "RELOAD", "NOSAVE")
            self.ordeal.survived("old dumps")
        elif what < 0.2:
            client.save()

    def identity(self, bucket: str) -> Path:
        return self.world.folder / f"{bucket}.id"

    def judge(self) -> Used:
        """Compare process by process; what was lost with those that were killed."""
        told = {row[0]: Used(*row[1:]) for row in self.world.sql(BY_PROCESS)}
        lost, all_of_it = Used(), Used()
        for bucket, well in self.users:
            seen = self.server.used.get(bucket, Used())
            known = told.pop(process_of(self.identity(bucket)) or UUID(int=0), Used())
            assert all(k <= s for k, s in zip(known, seen, strict=True)), f"{bucket}: {known} of {seen}"
            if well:
                assert known == seen, bucket
            lost = Used(*(x + s - k for x, s, k in zip(lost, seen, known, strict=True)))
            all_of_it = Used(*(x + k for x, k in zip(all_of_it, known, strict=True)))
        assert told == {}, "reports of processes that nobody knows"
        assert self.world.sql(IN_ALL)[0] == tuple(all_of_it)
        return lost


@pytest.fixture
def world(dsn: str, forgetful: TunedValkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[World]:
    with World(dsn, forgetful.url, {"default": ServedBucket(s3_double, "pastes")}, scratch) as world:
        yield world


@pytest.mark.ordeal("usage", aim="to the request and the byte, under kills")
def test_what_s3_saw_is_what_postgresql_says_but_for_what_the_dead_had_not_told(
    world: World, s3_double: ScriptedS3, ordeal: Ordeal
) -> None:
    world.sql("update reaper.settings set clock_may_move = true")
    world.sql("update reaper.settings set clock_offset = %s", world.value(TO_THE_END_OF_MONTH))
    with closed_port() as port:
        storm = Storm(world, s3_double, ordeal, f"redis://127.0.0.1:{port}")
        for _ in ordeal.rounds():
            storm.run(PROCESSES)
            lost = storm.judge()
        seen = sum(used.requests for used in s3_double.used.values())
        ordeal.survived("requests", seen)
        print(f"{seen} requests of {len(storm.users)} processes; lost with the dead: {lost}; {ordeal.counts}")
        assert len(world.sql("select distinct month from reaper.usage_processes")) == 2
        # Everything is told and folded once more: nothing is doubled.
        before = world.sql(IN_ALL)
        world.advance_clock("1 hour")
        with world.app() as app:
            tick = context(app)
            usage_flush.tick(tick)
            assert world.value("select count(*) from reaper.usage_processes where is_open") == 0
            usage_flush.tick(tick)
        assert world.sql(IN_ALL) == before


@pytest.mark.slow
def test_a_backend_is_left_within_what_was_not_flushed_yet_and_the_other_one_takes_over(
    dsn: str, forgetful: TunedValkey, s3_double: ScriptedS3, scratch: Path
) -> None:
    """With a limit of 1,000 requests, and a flush every 100 puts: 5 seconds of 20 puts a second."""
    for name in ("one", "two"):
        s3_double.buckets.add(name)
    backends = {"default": ServedBucket(s3_double, "one"), "east": ServedBucket(s3_double, "two")}
    with World(dsn, forgetful.url, backends, scratch) as world, world.app() as app:
        app.check()
        world.sql("select reaper.set_quota('east', 1000000000, 'second')")
        world.sql("select reaper.set_limit('default', 'monthly_requests', 1000, 'why')")
        store = app.store()
        for n in range(850):
            app.buckets["default"].put(f"{n}", b"x", 1)
        for n in range(400):
            if n % 100 == 0:
                app.usage.tell()
            store.put(b"%d" % n, None)
        at_default, at_east = s3_double.used["one"].requests, s3_double.used["two"].requests
        print(
            f"limit 1000: {at_default} requests on default, overshoot {at_default - 1000}, {at_east} on east"
        )
        assert 1000 <= at_default <= 1000 + 100
        assert at_east >= 150
        # Reads and deletions go on.
        code = world.value("select short_code from pastes order by created_at limit 1")
        assert store.get(code) is not None
        assert app.stores["default"].delete(["none"]) == {}
