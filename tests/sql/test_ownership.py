"""The identity of an installation, what is recorded of buckets, and what health says about it."""

import psycopg
import pytest

from reaper.migrate.release_folders import installed_folders
from tests.support.paste_fixtures import column, refused, value

RENAMED = "update reaper.installation set database = 'production'"
MOVED = "update reaper.installation set system_identifier = 1"
OWNER = """
select owner, owner_detail, owner_checked_at = reaper.clock() from reaper.backends where name = 'default'
"""
VERDICT = "select verdict, reasons from reaper.health"


def identity(db):
    return db.execute("select * from reaper.installation_identity()").fetchone()


def record(db, state, detail="it belongs to another", backend="default"):
    me = identity(db)[0]
    db.execute("select reaper.record_backend_owner(%s, %s, %s, %s)", [backend, me, state, detail])


def test_an_installation_is_recorded_where_it_was_migrated(db):
    installation, database, system, is_here, recorded_in, recorded_on, _ = identity(db)
    assert installation is not None
    assert is_here
    assert (database, system) == (recorded_in, recorded_on) == (db.info.dbname, recorded_on)
    assert system == value(db, "select system_identifier from pg_control_system()")


@pytest.mark.parametrize("change", [RENAMED, MOVED])
def test_a_copy_or_a_moved_database_is_not_where_it_was_recorded(db, change):
    before = identity(db)
    db.execute(change)
    now = identity(db)
    assert now[:3] == before[:3]
    assert not now[3]


def test_without_a_recorded_identity_the_database_is_nowhere_at_home(db):
    db.execute("delete from reaper.installation")
    assert identity(db)[3] is False


def test_there_is_one_identity_only(db):
    with pytest.raises(psycopg.errors.CheckViolation):
        db.execute(
            "insert into reaper.installation (only_row, installation_id, database, system_identifier)"
            " values (false, gen_random_uuid(), 'x', 1)"
        )


def test_a_backend_that_was_not_compared_is_not_checked(db):
    assert db.execute(OWNER).fetchall() == [("not checked", None, None)]
    assert db.execute(VERDICT).fetchall() == [("ok", [])]


@pytest.mark.parametrize("state", ["ours", "other"])
def test_what_was_found_is_shown(db, clock, state):
    clock.stop()
    record(db, state, "the marker")
    assert db.execute(OWNER).fetchall() == [(state, "the marker", True)]


def test_an_unchanged_result_is_written_once_a_minute(db, clock):
    clock.stop()
    record(db, "ours")
    clock.advance("30 seconds")
    record(db, "ours")
    assert not value(db, OWNER.replace("owner, owner_detail, ", ""))
    clock.advance("31 seconds")
    record(db, "ours")
    assert value(db, OWNER.replace("owner, owner_detail, ", ""))


def test_a_changed_result_is_written_at_once(db):
    record(db, "ours")
    record(db, "other")
    assert value(db, OWNER) == "other"


def test_what_was_compared_under_another_identity_is_not_recorded(db):
    former = identity(db)[0]
    db.execute("select reaper.renew_installation('a clone')")
    db.execute("select reaper.record_backend_owner('default', %s, 'ours', 'late')", [former])
    assert value(db, OWNER) == "not checked"


@pytest.mark.parametrize("change", [RENAMED, MOVED])
def test_what_was_found_in_the_former_place_says_nothing_in_a_copy(db, change):
    record(db, "ours")
    # As a dump carries it along: recorded by the original, read by the copy.
    db.execute(change.replace("installation", "backend_owners"))
    assert value(db, OWNER) == "not checked"


def test_an_unknown_owner_state_is_refused(db):
    with refused("RP005", "invalid owner state: 'mine'"):
        record(db, "mine")


def test_a_bucket_of_another_installation_needs_attention_and_the_reason_names_the_remedy(db):
    record(db, "other", "it belongs to installation 7")
    [(verdict, [reason])] = db.execute(VERDICT).fetchall()
    assert verdict == "attention"
    assert "backend default is not ours, nothing is deleted or stored there" in reason
    assert "it belongs to installation 7" in reason
    assert "reaper backend take-over default --reason" in reason


def test_a_copy_needs_attention_before_any_process_has_looked_at_a_bucket(db):
    db.execute(RENAMED)
    db.execute("select reaper.register_backend('east')")
    problems = column(db, "select * from reaper.ownership_problems()")
    assert [problem.split(" is not ours")[0] for problem in problems] == ["backend default", "backend east"]
    assert f"recorded as production on system {identity(db)[2]}, now {db.info.dbname}" in problems[0]
    assert value(db, VERDICT) == "attention"


def test_a_copy_whose_own_marker_was_found_is_well(db):
    db.execute(RENAMED)
    record(db, "ours")
    assert db.execute(VERDICT).fetchall() == [("ok", [])]


def test_a_backlog_is_worse_than_a_foreign_bucket_and_both_are_said(db, paste):
    record(db, "other")
    paste("late", expires="-30 hours")
    [(verdict, reasons)] = db.execute(VERDICT).fetchall()
    assert verdict == "stalled"
    assert "rows are late" in reasons[0]
    assert "not ours" in reasons[-1]


def test_a_take_over_brings_the_database_home_and_is_audited(db):
    db.execute(RENAMED)
    before = identity(db)
    db.execute("select reaper.record_take_over('default', 'installation 7', 'pg_upgrade')")
    now = identity(db)
    assert now[0] == before[0]
    assert now[3]
    [(who, action, subject, reason, detail)] = db.execute(
        "select who, action, subject, reason, detail from reaper.audit"
    ).fetchall()
    assert (who, action, subject, reason) == (db.info.user, "record_take_over", "default", "pg_upgrade")
    assert detail == f"from installation 7 to installation {now[0]}, database {now[1]}, system {now[2]}"


def test_a_take_over_also_records_an_identity_that_was_lost(db):
    db.execute("delete from reaper.installation")
    db.execute("select reaper.record_take_over('default', null, 'lost')")
    assert identity(db)[3]
    assert value(db, "select detail from reaper.audit").startswith("from no owner to installation ")


def test_a_take_over_of_an_unknown_backend_or_without_reason_changes_nothing(db):
    db.execute(RENAMED)
    with refused("RP005", "there is no backend 'nowhere'"):
        db.execute("select reaper.record_take_over('nowhere', null, 'why not')")
    with refused("RP005", "p_reason must not be empty"):
        db.execute("select reaper.record_take_over('default', null, ' ')")
    assert not identity(db)[3]


def test_a_clone_gets_an_identity_of_its_own_and_that_is_audited(db):
    record(db, "ours")
    before = identity(db)
    renewed = value(db, "select reaper.renew_installation('a snapshot of the disks')")
    assert identity(db)[0] == renewed != before[0]
    assert identity(db)[3]
    assert value(db, OWNER) == "not checked"
    audited = db.execute("select action, subject, reason, detail from reaper.audit").fetchall()
    reason = "a snapshot of the disks"
    assert audited == [("renew_installation", str(renewed), reason, f"from installation {before[0]}")]


def test_an_identity_is_not_renewed_without_a_reason(db):
    with refused("RP005", "p_reason must not be empty"):
        db.execute("select reaper.renew_installation('')")


def test_new_bytes_go_to_a_bucket_that_is_ours(db):
    for backend in ("a", "b"):
        db.execute("select reaper.register_backend(%s)", [backend])
    db.execute("select reaper.set_backend_state('default', 'readonly', 'for a test')")
    record(db, "other", backend="a")
    placed = "select backend from reaper.begin_put(%s, %s, 10, null)"
    assert value(db, placed, "p1", "h1") == "b"
    record(db, "other", backend="b")
    record(db, "ours", backend="a")
    assert value(db, placed, "p2", "h2") == "a"


@pytest.mark.parametrize("role", ["reaper_worker", "reaper_ops", "reaper_ro"])
def test_who_looks_at_the_verdict_sees_the_problem(db, role):
    record(db, "other")
    db.execute(f"set role {role}")
    assert value(db, VERDICT) == "attention"
    assert value(db, "select owner from reaper.backends") == "other"


def test_rolling_back_refuses_while_a_marker_names_the_installation(db):
    [file] = installed_folders().migrations.glob("*.installation.rollback.sql")
    text = file.read_text()
    record(db, "ours")
    with refused("RP007", "markers in these buckets name: default"):
        db.execute(text)
    record(db, "other")
    db.execute(
        "drop view reaper.health; drop view reaper.backends; drop function reaper.ownership_problems()"
    )
    db.execute("drop function reaper_internal.record_installation(uuid)")
    db.execute("delete from reaper.code_files")
    db.execute(text)
    assert value(db, "select to_regclass('reaper.installation')") is None
