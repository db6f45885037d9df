"""The catalogue under test: everything is documented, pinned, owned, and granted as declared here."""

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]

ROLES = {"worker", "app", "ops", "ro"}
NOBODY: set[str] = set()
DOING = {"worker", "ops"}
READING = {"worker", "ops", "ro"}
DOORS = {"app", "worker", "ops"}

# Who may call what. A function that is not named here, or a grant too many, fails the test.
EXECUTE = {
    "abort_put": DOORS,
    "add_bytes": NOBODY,
    "add_retention_policy": {"ops"},
    "adopt_batch": DOING,
    "await_standby": DOING,
    "begin_probe": DOING,
    "begin_put": DOORS,
    "begin_run": DOING,
    "block_rows": NOBODY,
    "bury_failed": NOBODY,
    "check_accounts": NOBODY,
    "check_invariants": READING,
    "check_objects": NOBODY,
    "check_queues": NOBODY,
    "check_rows": NOBODY,
    "circuit_pause": NOBODY,
    "circuit_states": ROLES,
    "claim_cleanup": DOING,
    "claim_expired": DOING,
    "claim_intents": DOING,
    "claim_invalidations": DOING,
    "clock": ROLES,
    "close_circuit": NOBODY,
    "collect_unreferenced": DOING,
    "column_limit": NOBODY,
    "column_problems": NOBODY,
    "commit_durably": NOBODY,
    "commit_put": DOORS,
    "compare_accounts": NOBODY,
    "copies_of": DOORS | READING,
    "count_about": NOBODY,
    "count_dlq": READING,
    "count_due": READING,
    "cutoff_expression": NOBODY,
    "defer_intent": DOING,
    "defer_job": DOING,
    "delete_paste": DOORS,
    "delete_unreferenced": NOBODY,
    "diagnose_own_tables": READING,
    "diagnose_rights": READING,
    "diagnose_settings": READING,
    "diagnose_tables": READING,
    "disable_policy": {"ops"},
    "disable_service": {"ops"},
    "disown_batch": DOING,
    "dispatch": DOING,
    "drain": DOING,
    "drop_intent": NOBODY,
    "drop_references": DOING,
    "due_services": DOING,
    "enable_policy": {"ops"},
    "enable_service": {"ops"},
    "error_cause": READING,
    "expected_objects": READING,
    "extend_paste": DOORS,
    "failed_objects": NOBODY,
    "fate_of_content": NOBODY,
    "fate_of_paste": NOBODY,
    "backends_in_use": READING,
    "owed_counts": READING,
    "find_policy": NOBODY,
    "finish_batch": DOING,
    "finish_cleanup": DOING,
    "finish_invalidations": DOING,
    "finish_probe": DOING,
    "finish_run": DOING,
    "fold_accounts": DOING,
    "forget_gone": NOBODY,
    "forget_unblocked": NOBODY,
    "free_names": NOBODY,
    "fresh_key": NOBODY,
    "get_paste": DOORS | READING,
    "give_back": DOING,
    "heartbeat": DOING,
    "hold_batch": NOBODY,
    "hold_intent": NOBODY,
    "hold_policy_table": NOBODY,
    "hold_room": NOBODY,
    "is_silent": READING,
    "is_transient": NOBODY,
    "is_whole": NOBODY,
    "judge_cached": READING,
    "known_objects": READING,
    "lease_cleanup": NOBODY,
    "leave_unknown": DOING,
    "link_problems": NOBODY,
    "hold_marked": NOBODY,
    "live_pastes": READING,
    "release_contents": NOBODY,
    "lock_contents": NOBODY,
    "mark_or_block": NOBODY,
    "name_dead": NOBODY,
    "named_by_others": NOBODY,
    "next_drain": NOBODY,
    "note_throttle": DOING,
    "owe_invalidation": NOBODY,
    "owe_upload": DOORS,
    "owing_backends": NOBODY,
    "pause": {"ops"},
    "pick_dead": NOBODY,
    "place_bytes": NOBODY,
    "plan_drain": READING,
    "plan_policy": {"ops", "ro"},
    "policy_limit": READING,
    "policy_problems": READING,
    "postpone_failed": NOBODY,
    "prune_history": DOING,
    "prune_jobs": DOING,
    "purge_aged": DOING,
    "purge_statement": NOBODY,
    "queue_failed_codes": NOBODY,
    "reached_by_delete": NOBODY,
    "recent_speed": READING,
    "record_audit": NOBODY,
    "record_copy": NOBODY,
    "record_job_error": DOING,
    "record_purge": NOBODY,
    "reference_content": NOBODY,
    "refuse_code": NOBODY,
    "refuse_policy": NOBODY,
    "refuse_retired_key": NOBODY,
    "register_backend": DOING,
    "register_service": DOING,
    "release_objects": NOBODY,
    "release_or_block": NOBODY,
    "release_rows": NOBODY,
    "released_codes": DOING,
    "remove_policy": {"ops"},
    "repair_accounts": DOING,
    "repair_counts": DOING,
    "report_failure": {*DOING, "app"},
    "report_success": {*DOING, "app"},
    "require_age": NOBODY,
    "require_backend": NOBODY,
    "require_bytes": NOBODY,
    "require_expiry": NOBODY,
    "require_failures_of_batch": NOBODY,
    "require_free_code": NOBODY,
    "require_lease": NOBODY,
    "require_limit": NOBODY,
    "require_policy": NOBODY,
    "require_policy_arguments": NOBODY,
    "require_put": NOBODY,
    "require_quota": NOBODY,
    "require_read_committed": NOBODY,
    "require_reason": NOBODY,
    "require_report": NOBODY,
    "require_service": NOBODY,
    "require_worker": NOBODY,
    "reschedule": {"ops"},
    "rescue_jobs": DOING,
    "reset_stale_probes": DOING,
    "reset_strays": DOING,
    "reset_stuck": DOING,
    "resolve_intent": DOING,
    "resume": {"ops"},
    "retention_problems": NOBODY,
    "retention_schedule": READING,
    "retire_worker": DOING,
    "retry_dead": {"ops"},
    "retry_pause": NOBODY,
    "return_rows": NOBODY,
    "ownerless_rows": DOING,
    "returned_ownerless": DOING,
    "reusable_names": NOBODY,
    "right_problems": NOBODY,
    "run_now": {"ops"},
    "service_lock": DOING,
    "set_backend_state": {"ops"},
    "set_quota": {"ops"},
    "settle_objects": NOBODY,
    "settle_put": NOBODY,
    "skip_run": DOING,
    "story_of_content": NOBODY,
    "story_of_paste": NOBODY,
    "standby_has": READING,
    "standbys": READING,
    "stuck_reason": READING,
    "sync_policies": NOBODY,
    "table_problems": NOBODY,
    "table_tree": NOBODY,
    "take_copies": NOBODY,
    "throttle": READING,
    "trigger_problems": NOBODY,
    "try_drop": DOING,
    "unindexed": NOBODY,
    "unknown_birth": NOBODY,
    "unreferenced_among": NOBODY,
    "unreferenced_content": READING,
    "why": READING,
    "waits_for_standby": READING,
    "write_off_dead": {"ops"},
}

# Who may SELECT from what. Nobody may write but to the columns below; all other tables are the owner's alone.
SELECT = {
    "backends": READING,
    "backlog": READING,
    "blocked_rows": READING,
    "cleanup_backlog": READING,
    "dlq": READING,
    "fleet": READING,
    "health": READING,
    "jobs": READING,
    "schedule": READING,
    "in_flight": READING,
    "policies": READING,
    "recent_runs": READING,
    "schema_version": ROLES,
    "settings": {"ops", "ro"},
    "stuck": READING,
}
TUNED_BY_OPS = (
    *("blocked_retry", "circuit_failures", "circuit_pause", "drain_slots", "intent_min_age", "keep_codes"),
    *("max_replica_lag", "max_snapshot_age", "pending_action", "wait_for_standby", "worker_silence"),
)
UPDATE = {("settings", name): {"ops"} for name in TUNED_BY_OPS}

# A sequence that belongs to an identity column is described by its column.
UNDOCUMENTED = {
    "functions": """
        select p.oid::regprocedure::text from pg_proc p
         where p.pronamespace = 'reaper'::regnamespace and obj_description(p.oid, 'pg_proc') is null""",
    "tables, views and sequences": """
        select c.relname from pg_class c
         where c.relnamespace = 'reaper'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S')
           and not (c.relkind = 'S' and exists (select from pg_depend d
                                                 where d.objid = c.oid and d.deptype = 'i'))
           and obj_description(c.oid, 'pg_class') is null""",
    "columns": r"""
        select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace = 'reaper'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
           and c.relname !~ '^_?yoyo_' and a.attnum > 0 and not a.attisdropped
           and col_description(c.oid, a.attnum) is null""",
    "triggers": """
        select t.tgname from pg_trigger t join pg_proc p on p.oid = t.tgfoid
         where not t.tgisinternal and p.pronamespace = 'reaper'::regnamespace
           and obj_description(t.oid, 'pg_trigger') is null""",
}
OWNED_BY_OTHERS = """
select p.oid::regprocedure::text from pg_proc p
 where p.pronamespace = 'reaper'::regnamespace and p.proowner <> 'reaper_owner'::regrole
union all
select c.oid::regclass::text from pg_class c
 where c.relnamespace = 'reaper'::regnamespace and c.relowner <> 'reaper_owner'::regrole
union all
select n.nspname from pg_namespace n where n.nspname = 'reaper' and n.nspowner <> 'reaper_owner'::regrole
"""
# Rights of everybody but the owner, by column where they are given so.
RIGHTS = """
with given as (
    select c.relname as object, null as part, c.relacl as acl, c.relowner as owner
      from pg_class c where c.relnamespace = 'reaper'::regnamespace and c.relkind <> 'i'
    union all
    select c.relname, a.attname, a.attacl, c.relowner
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'reaper'::regnamespace and a.attacl is not null
    union all
    select p.proname, null, coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
      from pg_proc p where p.pronamespace = 'reaper'::regnamespace
)
select g.object, g.part, x.privilege_type,
       case x.grantee when 0 then 'PUBLIC' else x.grantee::regrole::text end
  from given g
 cross join aclexplode(g.acl) as x
 where x.grantee <> g.owner
"""


def column(db: Connection, query: str) -> list[Any]:
    return [row[0] for row in db.execute(query)]


def rights(db: Connection) -> set[tuple[str, str | None, str, str]]:
    return {tuple(row) for row in db.execute(RIGHTS)}  # type: ignore[misc]


def declared() -> set[tuple[str, str | None, str, str]]:
    calls = {(name, None, "EXECUTE", f"reaper_{role}") for name, roles in EXECUTE.items() for role in roles}
    reads = {(name, None, "SELECT", f"reaper_{role}") for name, roles in SELECT.items() for role in roles}
    writes = {(*name, "UPDATE", f"reaper_{role}") for name, roles in UPDATE.items() for role in roles}
    return calls | reads | writes


@pytest.mark.parametrize("kind", UNDOCUMENTED)
def test_everything_has_a_comment(db, kind):
    assert column(db, UNDOCUMENTED[kind]) == []


def test_every_function_is_in_the_matrix_once(db):
    names = column(
        db, "select proname from pg_proc where pronamespace = 'reaper'::regnamespace order by proname"
    )
    assert names == sorted(EXECUTE)


def test_every_view_is_in_the_matrix(db):
    views = column(
        db, "select relname from pg_class where relnamespace = 'reaper'::regnamespace and relkind = 'v'"
    )
    assert set(views) == set(SELECT) - {"settings"}


def test_the_grants_are_the_declared_ones_and_no_more(db):
    assert rights(db) - declared() == set(), "granted, but not declared"
    assert declared() - rights(db) == set(), "declared, but not granted"


# Its objects are unqualified, so its functions need its schema in the path.
CALL_PROCRASTINATE = {"defer_job", "rescue_jobs", "prune_jobs"}


def test_nothing_is_granted_to_everybody(db):
    assert {right for right in rights(db) if right[-1] == "PUBLIC"} == set()


def test_every_function_decides_its_own_search_path_and_runs_as_its_owner(db):
    rows = db.execute(
        "select proname, prosecdef, proconfig from pg_proc"
        " where pronamespace = 'reaper'::regnamespace and prokind <> 'p'"
    ).fetchall()
    loose = {
        name
        for name, definer, config in rows
        if not definer
        or not any(
            each.startswith("search_path=pg_catalog, ") and each.endswith(", pg_temp")
            for each in config or ()
        )
    }
    assert loose == set()


def test_no_function_can_be_redirected_through_the_schema_of_the_application(db):
    rows = db.execute(
        "select p.proname, c from pg_proc p cross join unnest(p.proconfig) as c"
        " where p.pronamespace = 'reaper'::regnamespace and c like 'search_path=%'"
    ).fetchall()
    reach: dict[str, set[str]] = {}
    for name, path in rows:
        between = path.removeprefix("search_path=pg_catalog, reaper, ").removesuffix("pg_temp")
        reach.setdefault(between, set()).add(name)
    assert set(reach) == {"", "procrastinate, "}
    assert reach["procrastinate, "] == CALL_PROCRASTINATE


def test_procedures_that_commit_run_as_their_caller_and_qualify_every_name(db):
    rows = db.execute(
        "select proname, prosecdef, proconfig from pg_proc"
        " where pronamespace = 'reaper'::regnamespace and prokind = 'p'"
    ).fetchall()
    assert rows == [("drain", False, None)]
    db.execute("set search_path = ''")
    db.execute("call reaper.drain()")


def test_everything_belongs_to_an_owner_who_can_neither_log_in_nor_do_everything(db):
    assert column(db, OWNED_BY_OTHERS) == []
    assert "_yoyo_migration" in column(
        db, "select relname from pg_class where relnamespace = 'reaper'::regnamespace"
    )
    roles = db.execute(
        "select rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication"
        "  from pg_roles where rolname like 'reaper\\_%'"
    ).fetchall()
    assert {row[0] for row in roles} >= {"reaper_owner"} | {f"reaper_{role}" for role in ROLES}
    ours = [row for row in roles if row[0].removeprefix("reaper_") in ROLES | {"owner"}]
    assert not any(flag for row in ours for flag in row[1:])


def test_no_role_of_ours_is_a_member_of_another(db):
    members = db.execute(
        "select m.roleid::regrole::text, m.member::regrole::text from pg_auth_members m"
        " where m.roleid::regrole::text ~ '^reaper_' and m.member::regrole::text ~ '^reaper_'"
    ).fetchall()
    assert members == []


def test_the_owner_has_only_what_it_needs_on_the_tables_of_the_application(db):
    for table in ("content", "pastes"):
        given = db.execute(
            "select x.privilege_type from pg_class c cross join aclexplode(c.relacl) as x"
            " where c.oid = %s::regclass and x.grantee <> c.relowner",
            [f"public.{table}"],
        ).fetchall()
        assert {row[0] for row in given} == {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_our_roles_but_the_owner_have_nothing_on_the_tables_of_the_application(db):
    given = db.execute(
        "select c.relname, x.grantee::regrole::text from pg_class c cross join aclexplode(c.relacl) as x"
        " where c.relnamespace = 'public'::regnamespace and x.grantee <> c.relowner"
    ).fetchall()
    assert set(given) == {("content", "reaper_owner"), ("pastes", "reaper_owner")}


def test_only_the_owner_can_create_in_our_schema(db):
    for role in ROLES:
        row = db.execute(
            "select has_schema_privilege(r, 'reaper', 'usage'), has_schema_privilege(r, 'reaper', 'create')"
            "  from cast(%s as name) as r",
            [f"reaper_{role}"],
        ).fetchone()
        assert row == (True, False)


def test_no_index_mentions_what_the_claim_changes(db):
    definitions = column(
        db, "select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'pastes'::regclass"
    )
    assert len(definitions) == 3
    assert [each for each in definitions if "deletion_" in each] == []


def test_every_index_is_valid(db):
    assert (
        column(db, "select indexrelid::regclass::text from pg_index where not indisvalid or not indisready")
        == []
    )


def test_nothing_of_ours_is_unlogged_or_lacks_a_primary_key(db):
    odd = column(
        db,
        "select c.relname from pg_class c"
        " where c.relkind = 'r' and c.relname !~ '^_?yoyo_'"
        "   and c.relnamespace in ('reaper'::regnamespace, 'public'::regnamespace)"
        "   and (c.relpersistence <> 'p'"
        "        or not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary))",
    )
    assert odd == []
