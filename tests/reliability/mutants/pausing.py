"""Pauses: nothing is deleted during one, what it cut short is due after it; and pauses between attempts."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

NOTES = """
    create table public.notes (id int primary key, at timestamptz not null);
    create index on public.notes (at);
    grant select, delete, update (at) on public.notes to reaper_owner;
    insert into public.notes select i, now() - interval '2 days' from generate_series(1, 3) i;
    select reaper.add_retention_policy('notes', 'public.notes', 'at', '1 day');
    select reaper.enable_policy('notes');
    select reaper.pause('policy:notes', '1 hour', 'an audit');
"""
DRAIN = """
    select reaper.register_service('drain', '0 0 * * *', 'deletes');
    update reaper.services set next_run_at = reaper.clock() + interval '1 day';
    select reaper.pause('drain', '1 hour', 'why');
"""
NEXT = """select reaper.enqueue_next_run('drain', 'reaper:drain', 'drain:0', '{"slot": 0}')"""


def a_paused_policy_deletes_nothing(scene: Scene) -> None:
    scene.db.execute(NOTES)
    with scene.refusal("RP011"):
        scene.db.execute("select reaper.purge_aged('notes')")


def a_pause_outlives_its_policy(scene: Scene) -> None:
    scene.db.execute(NOTES)
    scene.db.execute("select reaper.disable_policy('notes'), reaper.sync_services()")
    scene.db.execute("select reaper.enable_policy('notes')")
    assert scene.value("select reaper.pause_of('policy:notes')") is not None


def a_drain_that_was_cut_short_is_due_after_the_pause(scene: Scene) -> None:
    scene.db.execute(DRAIN)
    assert scene.value(NEXT) == 0
    scene.db.execute("select reaper.resume('drain')")
    assert scene.column("select name from reaper.sync_services()") == ["drain"]


def a_slot_that_is_no_more_does_not_come_back(scene: Scene) -> None:
    scene.db.execute(DRAIN)
    scene.db.execute("select reaper.resume('drain')")
    scene.db.execute("update reaper.settings set drain_slots = 1")
    assert scene.value(NEXT.replace('"slot": 0', '"slot": 1')) == 0


def no_pause_between_attempts_is_longer_than_a_day(scene: Scene) -> None:
    longest = "select max(reaper_internal.retry_pause(10)) from generate_series(1, 100)"
    assert scene.value(f"select ({longest}) <= interval '24 hours'")


def no_pause_between_attempts_is_shorter_than_a_minute(scene: Scene) -> None:
    shortest = "select min(reaper_internal.retry_pause(1)) from generate_series(1, 100)"
    assert scene.value(f"select ({shortest}) >= interval '1 minute'")


MUTANTS = [
    mutant(
        "a pause does not hold for a purge by hand",
        a_paused_policy_deletes_nothing,
        function="purge_aged",
        replace="if p_despite_pause is not true then",
        by="if false then",
    ),
    mutant(
        "a pause ends with its policy",
        a_pause_outlives_its_policy,
        function="sync_policy_services",
        replace="and coalesce(s.paused_until <= reaper.clock(), true)",
    ),
    mutant(
        "what a pause cut short waits for its next time",
        a_drain_that_was_cut_short_is_due_after_the_pause,
        function="enqueue_next_run",
        replace="set next_run_at = v_now where",
        by="set next_run_at = s.next_run_at where",
    ),
    mutant(
        "a slot beyond the number of slots comes back",
        a_slot_that_is_no_more_does_not_come_back,
        function="enqueue_next_run",
        replace="(select g.drain_slots from reaper.settings g) - 1",
        by="64",
    ),
    mutant(
        "jitter leads out of the longest pause",
        no_pause_between_attempts_is_longer_than_a_day,
        function="retry_pause",
        replace="least(b.base * 1.2, interval '24 hours')",
        by="b.base * 1.2",
    ),
    mutant(
        "jitter leads out of the shortest pause",
        no_pause_between_attempts_is_shorter_than_a_minute,
        function="retry_pause",
        replace="greatest(b.base * 0.8, interval '1 minute')",
        by="b.base * 0.8",
    ),
]
