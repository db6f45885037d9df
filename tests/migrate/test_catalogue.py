"""The catalogue under test: everything is documented, pinned, owned, and granted as declared here."""

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]

ROLES = {"worker", "app", "ops", "ro"}
DOING = {"worker", "ops"}
READING = {"worker", "ops", "ro"}
DOORS = {"app", "worker", "ops"}

# Who may call what in schema reaper. A function that is not named here, or a grant too many, fails the test.
# Nobody may call anything in reaper_internal.
EXECUTE = {
    "abort_put": DOORS,
    "add_retention_policy": {"ops"},
    "add_webhook": {"ops"},
    "claim_deliveries": DOING,
    "disable_webhook": {"ops"},
    "due_webhooks": DOING,
    "enable_webhook": {"ops"},
    "finish_deliveries": DOING,
    "prune_deliveries": DOING,
    "record_verdict": DOING,
    "remove_webhook": {"ops"},
    "replay_deliveries": {"ops"},
    "return_deliveries": DOING,
    "rotate_webhook_secret": {"ops"},
    "webhook_to_test": {"ops"},
    "adopt_batch": DOING,
    "await_standby": DOING,
    "backends_in_use": READING,
    "blocked_causes": READING,
    "bad_copies": READING,
    "callable_functions": READING,
    "copy_progress": READING,
    "draining_backends": READING,
    "sole_bad_copies": READING,
    "wanted_copies": READING,
    "copies_are_due": READING,
    "dlq_causes": READING,
    "expiry_lag": READING,
    "runs_by_minute": READING,
    "waiting_deletions": READING,
    "begin_put": DOORS,
    "begin_run": DOING,
    "check_cached": READING,
    "check_invariants": READING,
    "circuit_states": ROLES,
    "claim_cleanup": DOING,
    "claim_expired": DOING,
    "claim_intents": DOING,
    "claim_invalidations": DOING,
    "claim_probe": DOING,
    "claim_job": {"worker"},
    "backend_remains": READING,
    "claim_copies": DOING,
    "claim_excess": DOING,
    "claim_moves": DOING,
    "commit_copies": DOING,
    "commit_copy": DOING,
    "copies_detail": READING,
    "drop_stale_copies": DOING,
    "extend_copies": DOING,
    "fail_copies": DOING,
    "fail_copy": DOING,
    "plan_moves": READING,
    "record_upload": DOING,
    "remove_backend": {"ops"},
    "remove_copy": DOING,
    "report_copy": {*DOING, "app"},
    "sweep_copies": DOING,
    "clock": ROLES,
    "collect_unreferenced": DOING,
    "add_lifecycle_rule": {"ops"},
    "begin_reconciliation": DOING,
    "delete_suspects": DOING,
    "copies_to_scrub": READING,
    "finish_reconciliation": DOING,
    "held_uploads": READING,
    "import_object": DOING,
    "record_put_upload": DOORS,
    "record_digest_sample": DOING,
    "record_listed": DOING,
    "record_own_objects": DOING,
    "record_scrubbed": DOING,
    "record_settled": DOING,
    "record_uploads": DOING,
    "record_verified": DOING,
    "retire_untracked": DOING,
    "scrub_brake": READING,
    "scrub_page": READING,
    "scrub_position": READING,
    "set_untracked": {"ops"},
    "finish_untracked": DOING,
    "stale_uploads_before": READING,
    "suspect_missing": DOING,
    "suspects_due": READING,
    "untracked_objects": READING,
    "untracked_summary": READING,
    "apply_lifecycle_rule": DOING,
    "disable_lifecycle_rule": {"ops"},
    "enable_lifecycle_rule": {"ops"},
    "enabled_lifecycle_rules": READING,
    "lifecycle_problems": READING,
    "plan_lifecycle_rule": {"ops", "ro"},
    "remove_lifecycle_rule": {"ops"},
    "commit_put": DOORS,
    "copies_of": DOORS | READING,
    "count_dlq": READING,
    "count_due": READING,
    "count_ownerless_rows": DOING,
    "delete_paste": DOORS,
    "diagnose_own_tables": READING,
    "diagnose_rights": READING,
    "diagnose_settings": READING,
    "diagnose_tables": READING,
    "disable_policy": {"ops"},
    "disable_service": {"ops"},
    "disown_batch": DOING,
    "drain": DOING,
    "drop_batch": DOING,
    "drop_references": DOING,
    "enable_policy": {"ops"},
    "enable_service": {"ops"},
    "enqueue_job": DOING,
    "enqueue_late_upload": DOORS,
    "enqueue_run": DOING,
    "error_cause": READING,
    "expected_objects": READING,
    "extend_paste": DOORS,
    "extend_service_lease": DOING,
    "finish_batch": DOING,
    "reap_batch": DOING,
    "reap_expired": DOING,
    "reap_without_owner": DOING,
    "reaps_directly": READING,
    "bind": {"app", "ops"},
    "before_batch": READING,
    "enqueue_next_run": DOING,
    "pause_of": READING,
    "objects_of_subject": READING,
    "from_local_time": READING,
    "key_binding": READING,
    "sample_keys": DOING,
    "record_key_check": DOING,
    "estimate_drain": READING,
    "plan_page": READING,
    "drop_bound_views": {"app", "ops"},
    "unbind": {"app", "ops"},
    "attention_reasons": READING,
    "due_by_hour": READING,
    "due_summary": READING,
    "behind_reasons": READING,
    "pause_reasons": READING,
    "stalled_reasons": READING,
    "expiry_of_blocked": READING,
    "finish_cleanup": DOING,
    "finish_intent": DOING,
    "finish_invalidations": DOING,
    "finish_probe": DOING,
    "finish_run": DOING,
    "flush_usage": DOORS,
    "fold_accounts": DOING,
    "fold_usage": DOING,
    "get_paste": DOORS | READING,
    "heartbeat": DOING,
    "installation_identity": ROLES,
    "is_silent": READING,
    "known_objects": READING,
    "lease_service": DOING,
    "live_pastes": READING,
    "ownership_problems": READING,
    "pause": {"ops"},
    "plan_drain": READING,
    "plan_policy": {"ops", "ro"},
    "policy_limit": READING,
    "policy_problems": READING,
    "prune_history": DOING,
    "prune_jobs": DOING,
    "purge_aged": DOING,
    "queue_counts": READING,
    "recent_speed": READING,
    "record_backend_failure": {*DOING, "app"},
    "record_backend_owner": {*DOING, "app"},
    "record_backend_success": {*DOING, "app"},
    "record_nearly_full": DOING,
    "refresh_state": DOING,
    "record_job_error": DOING,
    "record_skipped_run": DOING,
    "record_take_over": {"ops"},
    "record_throttle": DOING,
    "register_backend": DOING,
    "register_limits": DOING,
    "register_service": DOING,
    "released_codes": DOING,
    "remove_policy": {"ops"},
    "renew_installation": {"ops"},
    "repair_accounts": DOING,
    "repair_counts": DOING,
    "reschedule": {"ops"},
    "queue_schema": ROLES,
    "rescue_jobs": DOING,
    "reset_stale_probes": DOING,
    "reset_strays": DOING,
    "reset_stuck": DOING,
    "resume": {"ops"},
    "retention_schedule": READING,
    "retire_worker": DOING,
    "retry_dlq": {"ops"},
    "return_batch": DOING,
    "return_intent": DOING,
    "count_left_behind": READING,
    "return_or_disown": DOING,
    "return_service_lease": DOING,
    "return_unknown_batches": DOING,
    "run_now": {"ops"},
    "service_lock_key": DOING,
    "set_backend_state": {"ops"},
    "set_limit": {"ops"},
    "set_quota": {"ops"},
    "standby_has": READING,
    "standbys": READING,
    "stuck_reason": READING,
    "sync_services": DOING,
    "throttle": READING,
    "unblock": {"ops"},
    "unfinished_work": READING,
    "unreferenced_content": READING,
    "waiting_invalidations": READING,
    "waits_for_standby": READING,
    "why": READING,
    "write_off_dlq": {"ops"},
}

# Who may SELECT from what. Nobody may write but to the columns below; all other tables are the owner's alone.
SELECT = {
    "audit": {"ops", "ro"},
    "drift": {"ops", "ro"},
    "invalidations": {"ops", "ro"},
    "sightings": {"ops", "ro"},
    "suspects": {"ops", "ro"},
    "integrity": READING,
    "backends": READING,
    "backlog": READING,
    "bindings": {"ops", "ro"},
    "blocked_rows": READING,
    "cleanup_backlog": READING,
    "dlq": READING,
    "fleet": READING,
    "health": READING,
    "jobs": READING,
    "lifecycle": READING,
    "schedule": READING,
    "in_flight": READING,
    "policies": READING,
    "recent_runs": READING,
    "schema_version": ROLES,
    "settings": {"ops", "ro"},
    "stuck": READING,
    "usage": READING,
    "webhook_lanes": READING,
    "webhooks": {"ops"},
}
TABLES = {"audit", "bindings", "drift", "invalidations", "settings", "sightings", "suspects", "webhooks"}
# The application's tables, which no role of ours may read past the functions.
BOUND = {"pastes", "content"}
TUNED_BY_OPS = (
    *("blocked_retry", "circuit_failures", "circuit_pause", "drain_slots", "intent_min_age", "keep_codes"),
    *("batch_size", "rows_per_second", "time_zone", "claim_mode", "near_limit"),
    *("corrupt_brake", "missing_brake", "multipart_max_age", "scrub_bytes_per_day", "scrub_every"),
    *("max_replica_lag", "max_snapshot_age", "pending_action", "wait_for_standby", "worker_silence"),
    *("replication_factor", "unhealthy_after", "verify_copies", "rebalance_strategy", "rebalance_threshold"),
    *("readers_use_doors", "content_digest"),
)
UPDATE = {("settings", name): {"ops"} for name in TUNED_BY_OPS}

# A sequence that belongs to an identity column is described by its column.
UNDOCUMENTED = {
    "functions": """
        select p.oid::regprocedure::text from pg_proc p
         where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
           and obj_description(p.oid, 'pg_proc') is null""",
    "tables, views and sequences": """
        select c.relname from pg_class c
         where c.relnamespace = 'reaper'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S')
           and not (c.relkind = 'S' and exists (select from pg_depend d
                                                 where d.objid = c.oid and d.deptype = 'i'))
           and obj_description(c.oid, 'pg_class') is null""",
    "schemas": """
        select n.nspname from pg_namespace n
         where n.nspname ~ '^reaper' and obj_description(n.oid, 'pg_namespace') is null""",
    "columns": r"""
        select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace = 'reaper'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
           and c.relname !~ '^_?yoyo_' and a.attnum > 0 and not a.attisdropped
           and col_description(c.oid, a.attnum) is null""",
    "triggers": """
        select t.tgname from pg_trigger t join pg_proc p on p.oid = t.tgfoid
         where not t.tgisinternal
           and p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
           and obj_description(t.oid, 'pg_trigger') is null""",
}
OWNED_BY_OTHERS = """
select p.oid::regprocedure::text from pg_proc p
 where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
   and p.proowner <> 'reaper_owner'::regrole
union all
select c.oid::regclass::text from pg_class c
 where c.relnamespace = 'reaper'::regnamespace and c.relowner <> 'reaper_owner'::regrole
union all
select n.nspname from pg_namespace n where n.nspname ~ '^reaper' and n.nspowner <> 'reaper_owner'::regrole
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
      from pg_proc p where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
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
    assert set(views) == set(SELECT) - TABLES | BOUND


def test_the_grants_are_the_declared_ones_and_no_more(db):
    assert rights(db) - declared() == set(), "granted, but not declared"
    assert declared() - rights(db) == set(), "declared, but not granted"


# Its objects are unqualified, so its functions need its schema in the path.
CALL_PROCRASTINATE = {"claim_job", "enqueue_job", "rescue_jobs", "prune_jobs"}


def test_nothing_is_granted_to_everybody(db):
    assert {right for right in rights(db) if right[-1] == "PUBLIC"} == set()


def test_every_function_that_is_shown_may_be_called_by_somebody(db):
    callable_by = {right[0] for right in rights(db) if right[2] == "EXECUTE"}
    shown = column(db, "select proname from pg_proc where pronamespace = 'reaper'::regnamespace")
    assert set(shown) - callable_by == set()


# Only the owner of a table may drop its trigger.
AS_CALLER = {"unbind"}


def test_every_function_decides_its_own_search_path_and_runs_as_its_owner(db):
    rows = db.execute(
        "select proname, prosecdef, proconfig from pg_proc"
        " where pronamespace = 'reaper'::regnamespace and prokind <> 'p'"
    ).fetchall()
    loose = {
        name
        for name, definer, config in rows
        if definer is (name in AS_CALLER)
        or not any(
            each.startswith("search_path=pg_catalog, ") and each.endswith(", pg_temp")
            for each in config or ()
        )
    }
    assert loose == set()


def test_no_function_can_be_redirected_through_the_schema_of_the_application(db):
    rows = db.execute(
        "select p.proname, c from pg_proc p cross join unnest(p.proconfig) as c"
        " where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)"
        "   and c like 'search_path=%'"
    ).fetchall()
    reach: dict[str, set[str]] = {}
    for name, path in rows:
        between = path.removeprefix("search_path=pg_catalog, reaper, ").removesuffix("pg_temp")
        reach.setdefault(between, set()).add(name)
    assert set(reach) == {"", "procrastinate, "}
    assert reach["procrastinate, "] == CALL_PROCRASTINATE


def test_a_function_that_rules_plans_out_has_none_compiled(db):
    # Before PostgreSQL 18 a plan that is ruled out and taken all the same seems to cost ten thousand million,
    # and what seems to cost much is compiled, each time for half a second.
    rows = db.execute(
        "select proname from pg_proc"
        " where pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)"
        "   and proconfig::text like '%enable_%=off%' and not proconfig @> '{jit=off}'"
    ).fetchall()
    assert rows == []


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
        more = {"TRIGGER"} if table == "content" else set()
        assert {row[0] for row in given} == {"SELECT", "INSERT", "UPDATE", "DELETE"} | more


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
