"""Jobs of others in the queue stay theirs, and those of the living stay with them."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

QUEUE = "set local search_path = public, procrastinate"
JOB = """
insert into procrastinate_jobs (queue_name, task_name, status, worker_id)
values ('reaper', %s, %s, %s) returning id
"""
WORKER = "insert into procrastinate_workers default values returning id"
AGED = "update procrastinate_events set at = now() - interval '1 year' returning 1"
CUT_OFF = "update reaper.workers set session_pid = 1073741824 returning 1"
STATUS = "select status::text from procrastinate_jobs"
RESCUE = "select outcome from reaper.rescue_jobs()"


def job(scene: Scene, task: str, status: str, worker: int | None = None) -> None:
    scene.db.execute(QUEUE)
    scene.value(JOB, task, status, worker)


def a_foreign_job_is_not_rescued(scene: Scene) -> None:
    job(scene, "shop.mail", "doing")
    assert (scene.column(RESCUE), scene.column(STATUS)) == ([], ["doing"])


def a_foreign_job_is_not_pruned(scene: Scene) -> None:
    job(scene, "shop.mail", "failed")
    scene.column(AGED)
    assert scene.value("select reaper.prune_jobs()") == 0


def a_foreign_job_is_not_claimed(scene: Scene) -> None:
    job(scene, "shop.mail", "todo")
    number = scene.value(WORKER)
    assert scene.column("select id from reaper.claim_job('{reaper:drain}', null, %s)", number) == []


def who_is_cut_off_for_a_moment_keeps_its_job(scene: Scene) -> None:
    scene.db.execute(QUEUE)
    number = scene.value(WORKER)
    job(scene, "reaper:drain", "doing", number)
    scene.value("select reaper.heartbeat('me', %s)", number)
    scene.column(CUT_OFF)
    assert scene.column(RESCUE) == []


def who_beats_late_keeps_its_job(scene: Scene) -> None:
    scene.db.execute(QUEUE)
    number = scene.value(WORKER)
    job(scene, "reaper:drain", "doing", number)
    scene.value("select reaper.heartbeat('me', %s)", number)
    scene.clock.advance("30 seconds")
    assert scene.column(RESCUE) == []


MUTANTS = [
    mutant(
        "jobs of others are rescued",
        a_foreign_job_is_not_rescued,
        function="rescue_jobs",
        replace="and starts_with(j.task_name, 'reaper:')",
    ),
    mutant(
        "jobs of others are pruned",
        a_foreign_job_is_not_pruned,
        function="prune_jobs",
        replace="starts_with(j.task_name, 'reaper:') and",
    ),
    mutant(
        "jobs of others are claimed",
        a_foreign_job_is_not_claimed,
        function="claim_job",
        replace="and j.task_name = any (p_tasks)",
    ),
    mutant(
        "a session that is gone is enough to be dead",
        who_is_cut_off_for_a_moment_keeps_its_job,
        function="rescue_jobs",
        replace="and p.beat_at < reaper.clock() - interval '15 seconds'",
    ),
    mutant(
        "a late heartbeat is enough to be dead",
        who_beats_late_keeps_its_job,
        function="rescue_jobs",
        replace="and not exists (select from pg_catalog.pg_stat_activity a where a.pid = p.session_pid)",
    ),
]
