"""Schema reaper_internal: what only our own functions call. No role can use it, in any way."""

from typing import Any

import psycopg
import pytest

from tests.support.paste_fixtures import column, refused

Connection = psycopg.Connection[Any]

ROLES = ("reaper_worker", "reaper_app", "reaper_ops", "reaper_ro")
INSIDE = "pronamespace = 'reaper_internal'::regnamespace"
# Called by PostgreSQL for whoever writes content, who has no rights of ours.
TRIGGERS = {"require_free_key"}
# A call with arguments of the right types, so that nothing but the missing right can refuse it.
CALLS = f"""
select p.oid::regprocedure::text,
       format('select %s(%s)', p.oid::regproc,
              (select string_agg(format('null::%s', a.type::regtype), ', ' order by a.place)
                 from unnest(p.proargtypes) with ordinality as a (type, place)))
  from pg_proc p
 where {INSIDE} and p.prorettype <> 'trigger'::regtype
"""


def test_an_internal_function_runs_as_the_definer_that_calls_it(db):
    assert set(column(db, f"select proname from pg_proc where {INSIDE} and prosecdef")) == TRIGGERS


def test_an_internal_function_has_the_search_path_of_the_definer_that_calls_it(db):
    query = f"select proname from pg_proc, unnest(proconfig) c where {INSIDE} and c ~ '^search_path='"
    assert set(column(db, query)) == TRIGGERS


def test_an_internal_function_is_called_by_its_full_name(db):
    """Which no search_path can redirect."""
    names = "|".join(column(db, f"select proname from pg_proc where {INSIDE}"))
    unqualified = column(
        db,
        "select proname from pg_proc"
        " where pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)"
        "   and prosrc ~ format('(^|[^._[:alnum:]])(%%s)\\(', %s::text)",
        names,
    )
    assert unqualified == []


@pytest.mark.parametrize("role", ROLES)
def test_no_role_can_call_an_internal_function(db, role):
    calls = db.execute(CALLS).fetchall()
    assert len(calls) > 80
    db.execute(f"set role {role}")
    for _, call in calls:
        with refused("42501", "permission denied for schema reaper_internal"):
            db.execute(call)


@pytest.mark.parametrize("role", [*ROLES, "public"])
def test_no_role_could_call_one_if_it_were_let_into_the_schema(db, role):
    open_to = f"select proname from pg_proc where {INSIDE} and has_function_privilege(%s, oid, 'execute')"
    assert column(db, open_to, role) == []


def test_a_role_without_rights_can_use_neither_schema(db):
    with db.transaction(force_rollback=True):
        db.execute("create role somebody")
        allowed = column(
            db,
            "select n.nspname from pg_namespace n"
            " where n.nspname ~ '^reaper' and has_schema_privilege('somebody', n.oid, 'usage, create')",
        )
    assert allowed == []


@pytest.mark.parametrize("role", ROLES)
def test_no_role_has_a_right_on_the_schema(db, role):
    allowed = "select has_schema_privilege(%s, 'reaper_internal', 'usage, create')"
    assert column(db, allowed, role) == [False]


def test_nothing_but_functions_is_in_there(db):
    assert (
        column(db, "select relname from pg_class where relnamespace = 'reaper_internal'::regnamespace") == []
    )
    assert (
        column(db, "select typname from pg_type where typnamespace = 'reaper_internal'::regnamespace") == []
    )
    assert column(db, f"select distinct prokind::text from pg_proc where {INSIDE}") == ["f"]


def test_no_name_is_used_in_both_schemas(db):
    """Whoever reads a name knows where it lives, and the comparison of doctor relies on it."""
    query = "select proname from pg_proc where pronamespace = 'reaper'::regnamespace"
    assert set(column(db, query)) & set(column(db, f"select proname from pg_proc where {INSIDE}")) == set()


def test_what_runs_with_the_rights_of_its_caller_calls_nothing_internal(db):
    """Functions inside views are checked for whoever selects; the procedure that commits is no definer."""
    views = column(
        db,
        "select distinct r.ev_class::regclass::text from pg_depend d"
        "  join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid"
        "  join pg_proc p on d.refclassid = 'pg_proc'::regclass and p.oid = d.refobjid"
        f" where p.{INSIDE}",
    )
    callers = column(
        db,
        "select proname from pg_proc where pronamespace = 'reaper'::regnamespace"
        "   and not prosecdef and prosrc ~ 'reaper_internal'",
    )
    assert (views, callers) == ([], [])


def test_every_internal_function_is_called_by_one_of_ours(db):
    """Nobody else can call it."""
    unused = column(
        db,
        "select f.proname from pg_proc f"
        f" where f.{INSIDE} and f.prorettype <> 'trigger'::regtype"
        "   and not exists (select from pg_proc c"
        "                    where c.pronamespace::regnamespace::text in ('reaper', 'reaper_internal')"
        "                      and c.oid <> f.oid"
        "                      and c.prosrc ~ format('reaper_internal\\.%%s\\(', f.proname))",
    )
    assert unused == []
