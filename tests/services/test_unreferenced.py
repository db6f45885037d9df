"""The service that collects content which no paste names."""

from collections.abc import Callable
from dataclasses import replace

from tests.support.worker_world import InProcessWorker, WorkerWorld

AS_IF_OLD = """
update content c
   set created_at = '2020-01-01',
       ref_count = (select count(*) from pastes p where p.content_hash = c.content_hash)
"""


def test_it_is_off_until_somebody_switches_it_on(world: WorkerWorld, in_process: InProcessWorker) -> None:
    in_process.tick()
    assert (
        world.value("select enabled, next_run_at from reaper.services where name = 'unreferenced'") is False
    )


def test_rows_and_objects_go_and_bucket_and_database_agree(
    world: WorkerWorld, in_process: InProcessWorker, populate: Callable[..., None]
) -> None:
    populate(due=0, live=1500, contents=15_000, cached=False)
    world.sql("delete from pastes where short_code <> 'live000001'")
    world.sql(AS_IF_OLD)
    world.sql("create table thumbnails as select content_hash from content where ref_count = 0 limit 1")
    world.sql("alter table thumbnails add foreign key (content_hash) references content")
    world.sql("select reaper.enable_service('unreferenced')")
    in_process.run_service("unreferenced")
    assert world.result("unreferenced")[0] == {"looked_at": 1500, "collected": 1498, "refused": 1}
    world.judge()
    world.sql("drop table thumbnails")
    in_process.run_service("unreferenced")
    assert world.result("unreferenced")[0] == {"looked_at": 2, "collected": 1, "refused": 0}
    world.judge()


def test_what_a_run_left_that_died_after_its_first_page_is_taken_up(
    world: WorkerWorld, in_process: InProcessWorker, populate: Callable[..., None]
) -> None:
    populate(due=0, live=2500, contents=25_000, cached=False)
    world.sql("delete from pastes")
    world.sql(AS_IF_OLD)
    world.sql("select reaper.collect_unreferenced(1000)")
    world.sql("select reaper.enable_service('unreferenced')")
    in_process.run_service("unreferenced")
    assert world.result("unreferenced")[0] == {"looked_at": 1500, "collected": 1500, "refused": 0}
    world.judge()


def test_without_time_it_comes_back_and_goes_on(
    world: WorkerWorld, in_process: InProcessWorker, populate: Callable[..., None]
) -> None:
    populate(due=0, live=10, contents=100, cached=False)
    world.sql("delete from pastes")
    world.sql(AS_IF_OLD)
    world.sql("select reaper.enable_service('unreferenced')")
    replace(in_process.runner, budget=0).run_service("unreferenced")
    assert world.jobs() == ["service:unreferenced"]
    in_process.run_service("unreferenced")
    world.judge()
