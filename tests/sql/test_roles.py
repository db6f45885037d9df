"""The roles: a worker works through the functions alone, and nobody but the owner moves the clock."""

import psycopg
import pytest

from tests.support.paste_fixtures import Worker, codes, column, refused, value

RELATIONS = """
select c.oid::regclass::text
  from pg_class c
 where c.relnamespace in ('public'::regnamespace, 'reaper'::regnamespace)
   and c.relkind in ('r', 'v', 'm', 'p', 'S')
"""
RIGHTS_ON_TABLES = "select detail from reaper.diagnose_rights() where name = 'rights on tables'"
TABLE_RIGHTS = "select, insert, update, delete, truncate, references, trigger"
COLUMN_RIGHTS = "select, insert, update, references"
MAY = f"""
select coalesce(case when c.relkind = 'S' then has_sequence_privilege(r.name, c.oid, 'usage, select, update')
                     when c.relkind = 'v' then has_table_privilege(r.name, c.oid, 'insert, update, delete')
                     else has_table_privilege(r.name, c.oid, '{TABLE_RIGHTS}')
                          or has_any_column_privilege(r.name, c.oid, '{COLUMN_RIGHTS}') end, false)
  from pg_class c
 cross join (select current_user as name) as r
 where c.oid = %s::regclass
"""


@pytest.fixture
def login(db, dsn):
    """Logs in as a new member of a role; what is made here is cluster-wide, so it is removed again."""
    opened = []

    def as_member_of(role):
        name = f"member_of_{role}"
        db.execute(f"create role {name} login in role {role}")
        connection = psycopg.connect(dsn, user=name, autocommit=True)
        opened.append((name, connection))
        return connection

    yield as_member_of
    for name, connection in opened:
        connection.close()
        db.execute(f"drop owned by {name}")
        db.execute(f"drop role {name}")


def test_a_worker_can_do_its_whole_work_through_the_functions(db, paste, clock, login, reset_stuck):
    connection = login("reaper_worker")
    first, second = Worker(connection, "first"), Worker(connection, "second")
    paste.many("p", 10)
    first.heartbeat()
    batch = first.claim(4)
    assert len(first.drop(batch)) == 4
    first.finish(batch, [{"short_code": "p00001", "error": "x"}])

    first.drop(first.claim(2))
    first.claim(1)
    clock.advance("2 hours")
    assert first.call("reset_stuck")[0] == (1, 1, 1)
    adopted = second.adopt()
    assert second.finish(adopted.batch_id).objects_deleted == 2

    connection.execute("call reaper.drain(2)")
    assert codes(db) == set()
    assert len(second.drain()) == 4
    assert first.call("check_invariants") == []
    assert reset_stuck() == (0, 0, 0)


def test_a_worker_has_no_rights_on_any_table_or_sequence(db, login):
    connection = login("reaper_worker")
    relations = column(db, RELATIONS)
    assert {"pastes", "content", "reaper.batches", "reaper.settings", "reaper.refusals"} <= set(relations)
    assert [each for each in relations if value(connection, MAY, each)] == []


@pytest.mark.parametrize(
    "statement",
    [
        "select * from public.pastes",
        "delete from public.content",
        "select * from reaper.batches",
        "update reaper.settings set worker_silence = '1 day'",
        "update reaper.settings set clock_may_move = true, clock_offset = '10 years'",
        "select nextval('reaper.refusals')",
        "select reaper_internal.release_rows('{p00001}', null, now(), null, null)",
        "select reaper_internal.block_rows('{p00001}', now(), '', '', null)",
        "select reaper_internal.return_rows('{p00001}', null)",
        "create table reaper.mine ()",
        "create function reaper.clock() returns timestamptz language sql as $$ select now() $$",
        "alter function reaper.clock() set timezone = 'UTC'",
        "set role reaper_owner",
    ],
)
def test_a_worker_is_refused_at_the_back_doors(login, statement):
    with refused("42501"):
        login("reaper_worker").execute(statement)


@pytest.mark.parametrize("role", ["reaper_worker", "reaper_app", "reaper_ops", "reaper_ro"])
@pytest.mark.parametrize("setting", ["clock_may_move = true", "clock_offset = '10 years'", "only_row = true"])
def test_nobody_but_the_owner_moves_the_clock(login, role, setting):
    with refused("42501"):
        login(role).execute(f"update reaper.settings set {setting}")


def test_nothing_a_worker_sets_makes_a_live_row_due(db, paste, login):
    paste("alive", expires="1 hour")
    connection = login("reaper_worker")
    for mischief in (
        "set reaper.clock_offset = '10 years'",
        "set reaper.clock_may_move = true",
        "set timezone = 'Etc/GMT-14'",
        "set datestyle = 'SQL, DMY'",
        "set search_path = pg_temp",
        "create function pg_temp.clock_timestamp() returns timestamptz return 'infinity'::timestamptz",
        "create temp table settings as select true as clock_may_move, interval '10 years' as clock_offset",
    ):
        connection.execute(mischief)
    assert Worker(connection).try_claim() is None
    assert codes(db) == {"alive"}


def test_operators_tune_what_is_theirs_to_tune(db, login):
    operator = login("reaper_ops")
    operator.execute("update reaper.settings set worker_silence = '2 minutes', blocked_retry = '2 hours'")
    assert value(db, "select worker_silence = '2 minutes' from reaper.settings")


@pytest.mark.parametrize("setting", ["worker_silence = '1 second'", "blocked_retry = '0'"])
def test_settings_that_would_do_harm_are_refused(login, setting):
    with refused("23514"):
        login("reaper_ops").execute(f"update reaper.settings set {setting}")


@pytest.mark.parametrize("role", ["reaper_ops", "reaper_ro"])
@pytest.mark.parametrize(
    "view", ["health", "backlog", "stuck", "in_flight", "recent_runs", "dlq", "blocked_rows", "settings"]
)
def test_operators_and_readers_read_every_view(paste, me, login, role, view):
    paste.many("p", 2)
    me.drop(me.claim(1))
    connection = login(role)
    connection.execute(f"select * from reaper.{view}")
    assert Worker(connection).call("check_invariants") == []


@pytest.mark.parametrize("role", ["reaper_app", "reaper_ro"])
@pytest.mark.parametrize(
    "call", ["select reaper.claim_expired()", "call reaper.drain()", "select reaper.reset_stuck()"]
)
def test_applications_and_readers_cannot_drain(login, role, call):
    with refused("42501"):
        login(role).execute(call)


@pytest.mark.parametrize("role", ["reaper_ops", "reaper_ro"])
@pytest.mark.parametrize("table", ["audit", "drift", "invalidations"])
def test_operators_and_readers_read_what_was_done_noticed_and_queued(db, login, role, table):
    connection = login(role)
    connection.execute(f"select * from reaper.{table}")
    with refused("42501"):
        connection.execute(f"delete from reaper.{table}")
    assert value(db, RIGHTS_ON_TABLES) == "only the owner can write them"


@pytest.mark.parametrize(
    "grant", ["select on reaper.audit to reaper_app", "insert on reaper.drift to reaper_ops"]
)
def test_any_other_right_on_these_tables_is_named(db, grant):
    db.execute(f"grant {grant}")
    what, table, role = grant.split(" ")[0].upper(), grant.split(" ")[2], grant.split(" ")[4]
    assert value(db, RIGHTS_ON_TABLES) == f"{role} has {what} on {table.removeprefix('reaper.')}"


def test_only_operators_unblock_rows(login):
    assert value(login("reaper_ops"), "select reaper.unblock()") == 0
    for role in ("reaper_worker", "reaper_app", "reaper_ro"):
        with refused("42501"):
            login(role).execute("select reaper.unblock()")


def test_a_stranger_can_do_nothing(db, dsn):
    db.execute("create role stranger login")
    try:
        with psycopg.connect(dsn, user="stranger", autocommit=True) as connection:
            for statement in ("select reaper.clock()", "select * from reaper.health", "call reaper.drain()"):
                with refused("42501"):
                    connection.execute(statement)
    finally:
        db.execute("drop role stranger")


def test_public_may_lock_or_use_nothing_of_ours(db, stranger):
    """A lock on a table needs a right on it; a login without any finds nothing to stand in the way with."""
    ours = column(
        db,
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where c.relkind in ('r', 'p', 'v', 'm')"
        "   and (n.nspname in ('reaper', 'reaper_internal', 'procrastinate')"
        "        or c.oid in ('public.pastes'::regclass, 'public.content'::regclass))",
    )
    assert len(ours) > 20
    for name in ours:
        with refused("42501"), stranger.transaction():
            stranger.execute(f"lock table {name} in access share mode nowait")
    usable = "select nspname from pg_namespace where has_schema_privilege('stranger', oid, 'usage')"
    assert not {"reaper", "reaper_internal", "procrastinate"} & set(column(db, usable))
    callable_ones = (
        "select p.oid::regprocedure::text from pg_proc p"
        " where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)"
        "   and has_function_privilege('stranger', p.oid, 'execute')"
    )
    assert column(db, callable_ones) == []


def test_operators_choose_the_claim_mode_and_nothing_else_is_taken_for_one(db, login):
    operator = login("reaper_ops")
    assert value(db, "select claim_mode from reaper.settings") == "mark", (
        "rows are marked unless told otherwise"
    )
    assert value(operator, "select reaper.reaps_directly()") is False
    operator.execute("update reaper.settings set claim_mode = 'direct'")
    assert value(operator, "select reaper.reaps_directly()") is True
    for wrong in ("'Direct'", "''", "'claim'"):
        with refused("23514", "settings_claim_mode_check"):
            operator.execute(f"update reaper.settings set claim_mode = {wrong}")
    with refused("23502"):
        operator.execute("update reaper.settings set claim_mode = null")
    assert value(db, "select claim_mode from reaper.settings") == "direct"


@pytest.mark.parametrize("role", ["reaper_worker", "reaper_app", "reaper_ro"])
def test_only_operators_change_the_claim_mode(db, login, role):
    with refused("42501"):
        login(role).execute("update reaper.settings set claim_mode = 'direct'")
    assert value(db, "select claim_mode from reaper.settings") == "mark"


def test_a_worker_releases_directly_through_the_functions_and_readers_do_not(db, paste, login):
    paste.many("p", 4)
    worker = Worker(login("reaper_worker"), "w")
    assert worker.finish(worker.reap(2))[:4] == (2, 0, 0, 2)
    (reaped,) = worker.call("reap_batch", 1, "w", "-infinity", None)
    worker.finish(reaped.batch_id)
    for role in ("reaper_ro", "reaper_app"):
        with refused("42501"):
            Worker(login(role), "w").try_reap()
    assert codes(db) == {"p00004"}
