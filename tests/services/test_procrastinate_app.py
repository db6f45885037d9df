"""reaper as a guest of procrastinate: its command line on our app, our tasks in an app of somebody else."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from procrastinate import App
from procrastinate.testing import InMemoryConnector
from procrastinate.types import JSONDict

from reaper.errors import ConfigError
from reaper.migrate import Request, migrate
from reaper.migrate.release_folders import installed_folders
from reaper.procrastinate import blueprint
from reaper.services import ALL
from tests.support.forked_processes import terminated
from tests.support.sample_services import MARKS
from tests.support.worker_world import WorkerWorld

Populate = Callable[..., None]
WATCHDOG = '{"name": "watchdog"}'


def procrastinate(
    world: WorkerWorld, *arguments: str, app: str = "reaper.procrastinate.app", **options: object
) -> subprocess.CompletedProcess[str]:
    """The command of the installed package."""
    command = [str(Path(sys.executable).parent / "procrastinate"), f"--app={app}"]
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, **world.wiring.variables},
        capture_output=True,
        text=True,
        timeout=90,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize(
    ("task", "arguments", "lock"),
    [
        ("reaper:tick", {"timestamp": 0}, "tick"),
        ("reaper:service", {"name": "watchdog"}, "service:watchdog"),
        ("reaper:drain", {"slot": 3}, "drain:3"),
        ("reaper:purge", {"policy": "logs"}, "policy:logs"),
    ],
)
def test_a_deferred_job_has_the_queueing_lock_of_its_arguments_unless_one_is_given(
    task: str, arguments: JSONDict, lock: str
) -> None:
    app = App(connector=InMemoryConnector())
    app.add_tasks_from(blueprint(), namespace="reaper")
    assert app.configure_task(task).make_new_job(**arguments).queueing_lock == lock
    assert app.configure_task(task, task_kwargs=arguments).job.queueing_lock == lock
    assert app.configure_task(task, queueing_lock="x").make_new_job(**arguments).queueing_lock == "x"


@pytest.mark.slow
def test_healthchecks_defer_and_shell_work_on_the_importable_app(world: WorkerWorld) -> None:
    checked = procrastinate(world, "healthchecks")
    assert (checked.returncode, "OK" in checked.stdout) == (0, True), checked.stderr
    first, second = (procrastinate(world, "defer", "reaper:service", WATCHDOG) for _ in range(2))
    assert first.returncode == 0, first.stderr
    # As reaper.enqueue_job does: of one service one job waits.
    assert second.returncode != 0
    assert "queueing lock" in second.stderr
    assert world.jobs() == ["service:watchdog"]
    shell = procrastinate(world, "shell", input="list_jobs\nexit\n")
    assert "reaper:service" in shell.stdout, shell.stderr


@pytest.mark.slow
def test_the_worker_of_procrastinates_command_drains_and_leaves_foreign_jobs_alone(
    world: WorkerWorld, populate: Populate
) -> None:
    populate(due=100, live=10, contents=50)
    world.queue_sql("insert into procrastinate_jobs (queue_name, task_name) values ('reaper', 'shop.mail')")
    with world.in_process_worker() as in_process:
        world.planned(in_process)
    world.due("drain")
    assert procrastinate(world, "defer", "reaper:tick", '{"timestamp": 0}').returncode == 0
    ended = procrastinate(world, "worker", "--one-shot")
    while world.jobs():
        ended = procrastinate(world, "worker", "--one-shot")
    assert ended.returncode == 0, ended.stderr
    assert world.value("select reaper.count_due()") == 0
    world.judge()
    assert world.sql("select status::text from procrastinate.procrastinate_jobs") == [("todo",)]
    assert world.sql("table reaper.workers") == []


OWN = "tests.support.own_app.app"
OWN_JOBS = """
select task_name, status::text, attempts from shop_queue.procrastinate_jobs where task_name like 'shop.%'
"""
LOST = """
with dead as (
    insert into procrastinate_workers (last_heartbeat) values (now() - interval '1 day') returning id
)
insert into procrastinate_jobs (queue_name, task_name, status, worker_id)
select 'default', 'shop.mail', 'doing', id from dead
"""


@pytest.fixture
def shop(world: WorkerWorld) -> WorkerWorld:
    """A database whose owner used procrastinate, in a schema of another name, before reaper came."""
    folder = installed_folders().procrastinate
    assert folder is not None
    world.sql(MARKS)
    with psycopg.connect(world.dsn, options="-c search_path=shop_queue", autocommit=True) as connection:
        connection.execute("create schema shop_queue")
        connection.execute((folder.parent / "schema.sql").read_bytes())
        migrate(world.dsn, tables=Request(queue_schema="shop_queue"), services=ALL)
        connection.execute(LOST)
    return world


@pytest.mark.slow
def test_an_app_with_tasks_of_its_own_runs_ours_beside_them_on_one_worker(
    shop: WorkerWorld, populate: Populate
) -> None:
    populate(due=100, live=10, contents=50)
    with shop.in_process_worker() as in_process:
        shop.planned(in_process)
    for name in ("drain", "job_rescue", "prune"):
        shop.due(name)
    shop.sql("select reaper.enqueue_job('reaper:tick', 'tick', '{\"timestamp\": 0}')")
    for task, arguments in {"shop.mail": '{"order": 7}', "shop.fail": "{}"}.items():
        deferred = procrastinate(shop, "defer", task, arguments, app=OWN)
        assert deferred.returncode == 0, deferred.stderr
    for _ in range(5):
        ended = procrastinate(shop, "worker", "--one-shot", app=OWN)
        assert ended.returncode == 0, ended.stderr
        if not shop.jobs():
            break
    assert shop.sql("select service, pid from marks") == [("mail", 7)]
    assert shop.value("select reaper.count_due()") == 0, ended.stderr
    shop.judge()
    # Its own dead job is still its own affair.
    assert sorted(shop.sql(OWN_JOBS)) == [
        ("shop.fail", "failed", 1),
        ("shop.mail", "doing", 0),
        ("shop.mail", "succeeded", 1),
    ]


@pytest.mark.slow
def test_a_worker_of_ours_killed_beside_it_leaves_the_jobs_of_the_others_alone(shop: WorkerWorld) -> None:
    with psycopg.connect(shop.dsn, options="-c search_path=shop_queue", autocommit=True) as connection:
        connection.execute(
            "insert into procrastinate_jobs (queue_name, task_name) values ('reaper', 'shop.mail')"
        )
    before = sorted(shop.sql(OWN_JOBS))
    first = shop.worker("--queues", "reaper,default")
    shop.until("exists (select from reaper.workers where queue_worker is not null)")
    first.kill()
    second = shop.worker("--queues", "reaper,default")
    shop.due("job_rescue")
    shop.until("(select runs > 0 from reaper.services where name = 'job_rescue')")
    assert terminated(second) == 0
    assert sorted(shop.sql(OWN_JOBS)) == before


def test_a_worker_that_is_told_another_schema_than_the_database_says_so(shop: WorkerWorld) -> None:
    with shop.app(queue_schema="procrastinate") as app, pytest.raises(ConfigError, match="schema shop_queue"):
        app.runtime(1)


def test_a_first_job_for_which_nothing_can_be_opened_keeps_why(
    world: WorkerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in world.wiring.variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REAPER_DATABASE_URL", world.dsn)
    app = App(connector=InMemoryConnector())
    app.add_tasks_from(blueprint(), namespace="reaper")
    app.configure_task("reaper:service").defer(name="watchdog")
    app.run_worker(wait=False, install_signal_handlers=False)
    # The periodic tick may have come as well.
    [(error,)] = world.sql("select error from reaper.job_errors where task = 'reaper:service'")
    assert "REAPER_S3_BUCKET is not set" in error
