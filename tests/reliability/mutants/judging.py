"""The verdict: the lines of its truth table are the plays."""

from tests.support import verdict_cases
from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Play, Scene

START = "reaper_internal.start_of_run(p_seen, s.paused_until)"
VERDICT = "select verdict from reaper.health"


def line(title: str) -> Play:
    """The verdict is that of the truth table."""
    [case] = [case for case in verdict_cases.CASES if case.title == title]

    def play(scene: Scene) -> None:
        case.arrange(verdict_cases.Scene(scene.db))
        assert scene.value(VERDICT) == case.verdict

    return play


def a_drain_that_is_off_is_not_late(scene: Scene) -> None:
    of_table = verdict_cases.Scene(scene.db)
    of_table.paste("a")
    of_table.start()
    of_table.run()
    of_table.sql("select reaper.disable_service('drain')")
    of_table.later("3 hours")
    assert scene.value(VERDICT) == "paused"


def a_pause_makes_nothing_late(scene: Scene) -> None:
    of_table = verdict_cases.Scene(scene.db)
    of_table.paste("a")
    of_table.start()
    of_table.run()
    of_table.sql("select reaper.pause('drain', '10 hours', 'index build')")
    of_table.later("3 hours")
    assert scene.value(VERDICT) == "paused"
    of_table.later("7 hours 1 minute")
    assert scene.value(VERDICT) == "ok"


def a_resumed_drain_is_not_late(scene: Scene) -> None:
    of_table = verdict_cases.Scene(scene.db)
    of_table.paste("a")
    of_table.sql("select reaper.pause('drain', '10 hours', 'index build')")
    of_table.later("9 hours")
    of_table.sql("select reaper.resume('drain')")
    assert scene.value(VERDICT) == "ok"


def a_restart_is_no_stall(scene: Scene) -> None:
    of_table = verdict_cases.Scene(scene.db)
    of_table.sql("select reaper.retire_worker('worker-1')")
    of_table.alone("119 seconds")
    assert scene.value(VERDICT) == "ok"


MUTANTS = [
    mutant(
        "a drain that is off is late",
        a_drain_that_is_off_is_not_late,
        function="drain_limits",
        replace="and s.enabled and coalesce(s.paused_until <= p_now, true)",
    ),
    mutant(
        "starts before a pause count when it ends",
        a_pause_makes_nothing_late,
        function="drain_limits",
        replace="greatest(k.start, d.paused_until)",
        by="k.start",
        times=2,
    ),
    mutant(
        "what was missed in a pause is late at once",
        a_resumed_drain_is_not_late,
        function="resume",
        replace="greatest(s.next_run_at, least(s.paused_until, reaper.clock()))",
        by="s.next_run_at",
    ),
    mutant(
        "a restart is a stall",
        a_restart_is_no_stall,
        function="stalled_reasons",
        replace="d.since < p_now - f.worker_silence",
        by="true",
    ),
    mutant(
        "no starts are remembered",
        line("behind an hourly drain"),
        function="enqueue_run",
        replace=f"reaper_internal.add_start(s.recent_starts, {START})",
        by="s.recent_starts",
    ),
    mutant(
        "of the starts only the last is remembered",
        line("behind a continuous drain"),
        function="add_start",
        replace="(select max(o.start) from known o where o.start <= reaper.clock() - interval '2 hours')",
        by="(select max(o.start) from known o)",
    ),
    mutant(
        "a skipped run counts as one",
        line("a service overdue, its lock held elsewhere"),
        function="enqueue_run",
        replace=f"coalesce(s.waiting_since, {START})",
        by=START,
    ),
    mutant(
        "a silent worker is no reason",
        line("no worker for an hour"),
        function="workers_alive",
        replace="and w.beat_at >= p_now - s.worker_silence",
    ),
]
