"""A pause holds for whoever runs the service by hand in SQL, until one says otherwise."""

import pytest

from tests.support.paste_fixtures import codes, column, record, refused, value

REGISTER = "select reaper.register_service('drain', '0 0 * * *', 'deletes')"
PAUSE = "select reaper.pause('drain', '2 hours', 'the month is closing')"


@pytest.fixture
def paused(checked_db, paste):
    """A paused drain, and ten rows that are due."""
    checked_db.execute(REGISTER)
    paste.many("p", 10)
    checked_db.execute(PAUSE)
    return checked_db


def test_a_paused_drain_is_refused_with_who_why_and_until_when(paused):
    with refused("RP011") as refusal:
        paused.execute("call reaper.drain()")
    said, until = str(refusal.value), value(paused, "select paused_until from reaper.services")
    assert f"drain is paused until {until:%Y-%m-%d %H:%M:%S}" in said
    assert f"by {value(paused, 'select session_user')}: the month is closing" in said
    assert "p_despite_pause => true" in said
    assert len(codes(paused)) == 10


def test_a_paused_drain_drains_when_one_means_it(paused):
    paused.execute("call reaper.drain(p_despite_pause => true)")
    assert codes(paused) == set()


@pytest.mark.parametrize("end", ["select reaper.resume('drain')", None])
def test_after_its_end_a_pause_holds_nobody(paused, clock, end):
    if end:
        paused.execute(end)
    else:
        clock.advance("2 hours")
    paused.execute("call reaper.drain()")
    assert codes(paused) == set()


PAUSING = """
create function pause_it() returns trigger language plpgsql as $$
begin
    perform reaper.pause('drain', '2 hours', 'enough');
    return null;
end $$;
create trigger pause_it after delete on public.pastes for each statement execute function pause_it();
"""


def test_a_pause_that_begins_meanwhile_ends_a_drain_before_its_next_claim_and_it_says_so(db, paste):
    db.execute(REGISTER)
    paste.many("p", 10)
    db.execute(PAUSING)
    said = []
    db.add_notice_handler(lambda notice: said.append((notice.severity, notice.message_primary)))
    db.execute("call reaper.drain(4)")
    db.execute("drop trigger pause_it on public.pastes")
    assert len(codes(db)) == 6
    assert value(db, "select count(*) from reaper.batches where state = 'CLAIMED'") == 0
    assert said[0][1].startswith("drained 4 rows in 1 batch;")
    assert said[-1][0] == "WARNING"
    assert "drain stopped before its next batch: drain is paused until" in said[-1][1]


def test_a_paused_service_is_not_made_due(paused):
    with refused("RP011", "drain is paused until"):
        paused.execute("select reaper.run_now('drain')")


def test_the_schedule_names_who_paused_it_until_it_is_resumed(paused):
    query = "select paused_by, pause_reason from reaper.schedule where name = 'drain'"
    assert record(paused, query).paused_by == value(paused, "select session_user")
    paused.execute("select reaper.resume('drain')")
    assert record(paused, query) == (None, None)


@pytest.fixture
def notes(db):
    """An enabled policy with three rows that are too old; no worker ever ran."""
    db.execute("create table public.notes (id int primary key, at timestamptz not null)")
    db.execute("create index on public.notes (at)")
    db.execute("grant select, delete, update (at) on public.notes to reaper_owner")
    db.execute("insert into public.notes select i, now() - interval '2 days' from generate_series(1, 3) i")
    db.execute("select reaper.add_retention_policy('notes', 'public.notes', 'at', '1 day')")
    db.execute("select reaper.enable_policy('notes')")
    return db


def test_a_paused_policy_deletes_nothing_unless_one_means_it(notes):
    notes.execute("select reaper.pause('policy:notes', '1 hour', 'an audit')")
    with refused("RP011", "policy:notes is paused until .*: an audit"):
        notes.execute("select reaper.purge_aged('notes')")
    assert value(notes, "select count(*) from notes") == 3
    assert value(notes, "select reaper.purge_aged('notes', p_despite_pause => true)") == 3


def test_a_pause_outlives_a_policy_that_is_switched_off_and_on(notes, clock):
    notes.execute("select reaper.pause('policy:notes', '1 hour', 'an audit')")
    notes.execute("select reaper.disable_policy('notes')")
    notes.execute("select reaper.sync_services()")
    notes.execute("select reaper.enable_policy('notes')")
    with refused("RP011"):
        notes.execute("select reaper.purge_aged('notes')")
    notes.execute("select reaper.disable_policy('notes')")
    clock.advance("1 hour")
    notes.execute("select reaper.sync_services()")
    assert column(notes, "select name from reaper.services where name = 'policy:notes'") == []


def test_a_run_that_a_pause_cut_short_is_due_when_the_pause_ends(paused):
    paused.execute("update reaper.services set next_run_at = reaper.clock() + interval '1 day'")
    queued = """select reaper.enqueue_next_run('drain', 'reaper:drain', 'drain:0', '{"slot": 0}')"""
    assert value(paused, queued) == 0
    assert "drain" not in column(paused, "select name from reaper.sync_services()")
    paused.execute("select reaper.resume('drain')")
    assert "drain" in column(paused, "select name from reaper.sync_services()")
    assert value(paused, queued) == 2, "both slots"
    paused.execute("select reaper.disable_service('drain')")
    assert value(paused, queued) == 0


@pytest.mark.parametrize(("slot", "slots", "jobs"), [(0, 3, [0, 1, 2]), (1, 3, [1]), (2, 2, []), (0, 1, [0])])
def test_a_changed_number_of_slots_holds_when_a_slot_comes_back(db, slot, slots, jobs):
    db.execute(REGISTER)
    db.execute("update reaper.settings set drain_slots = %s", [slots])
    db.execute(
        "select reaper.enqueue_next_run('drain', 'reaper:drain', 'drain:x', %s)", [f'{{"slot": {slot}}}']
    )
    assert column(db, "select lock from reaper.jobs order by 1") == [f"drain:{n}" for n in jobs]
