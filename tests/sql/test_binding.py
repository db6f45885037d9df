"""Views know their tables by number: nothing is claimed through one that reads another table (RP010)."""

import psycopg
import pytest

from tests.support.paste_fixtures import (
    both_claim_modes,
    codes,
    column,
    contents,
    record,
    refused,
    unbound,
    value,
)

SWAP = """
    create table pastes_new (like pastes including all);
    insert into pastes_new select * from pastes;
    alter table pastes rename to pastes_old;
    alter table pastes_new rename to pastes;
"""
# What was done to the tables, and what is said about it.
BROKEN = {
    "swapped": (
        SWAP,
        "reaper.pastes still reads public.pastes_old: another table is called public.pastes now",
    ),
    "renamed": (
        "alter table content rename to blobs",
        "public.content, which is bound as reaper.content, does not exist any more",
    ),
    "moved": (
        "create schema other; alter table pastes set schema other",
        "public.pastes, which is bound as reaper.pastes, does not exist any more",
    ),
    "unbound": ("select reaper.unbind()", "reaper.content does not exist: the tables are unbound"),
    "without a foreign key": (
        "alter table pastes drop constraint pastes_content_hash_fkey",
        "no foreign key from public.pastes to public.content: a live paste could lose its content",
    ),
    "row level security": (
        "alter table pastes enable row level security",
        "public.pastes has row level security",
    ),
    "inherited": ("create table heirs () inherits (pastes)", "public.pastes takes part in table inheritance"),
    "without the right to delete": (
        "revoke delete on pastes from reaper_owner",
        "reaper_owner has no right to delete rows of public.pastes",
    ),
    "keys elsewhere": (
        """update reaper.bindings set keys_confirmed = false, keys_checked = '0 of 100 objects were found'
            where name = 'content'""",
        "objects do not lie under the object keys of public.content: 0 of 100 objects were found",
    ),
}
pytestmark = pytest.mark.usefixtures("checked_db")
every = pytest.mark.parametrize(("change", "problem"), BROKEN.values(), ids=BROKEN.keys())


def verdict(db) -> tuple[str, str]:
    found = record(db, "select verdict, array_to_string(reasons, ' | ') as reasons from reaper.health")
    return found.verdict, found.reasons


@pytest.mark.broken_on_purpose
@every
def test_nothing_is_claimed_and_the_verdict_names_it(db, paste, me, change, problem):
    paste("a", expires="-1 day")
    assert verdict(db) == ("ok", "")
    db.execute(change)
    with refused("RP010", problem):
        me.claim()
    with refused("RP010", problem):
        me.reap()
    with refused("RP010", problem):
        me.call("collect_unreferenced")
    with refused("RP010", problem):
        db.execute("call reaper.drain()")
    assert column(db, "select batch_id from reaper.batches") == []
    found, reasons = verdict(db)
    assert found == "attention"
    assert problem in reasons


@pytest.mark.broken_on_purpose
@every
def test_nothing_is_released_of_what_was_claimed_before(db, paste, claim, me, change, problem):
    paste("a", expires="-1 day", content="x")
    batch = claim()
    db.execute(change)
    with refused("RP010", problem):
        me.drop(batch)
    assert column(db, "select state from reaper.batches") == ["CLAIMED"]
    assert column(db, "select short_code from reaper.blocked") == []


@pytest.mark.broken_on_purpose
def test_a_live_paste_of_a_swapped_table_keeps_its_content(db, paste, me):
    """Before the guard a drain of the old table took content that only the new table names."""
    paste("a", expires="-1 day", content="x")
    db.execute(SWAP)
    db.execute("update pastes set expires_at = null")
    with refused("RP010"):
        me.claim()
    assert contents(db) == {"x"}
    assert codes(db) == {"a"}


@pytest.mark.broken_on_purpose
def test_the_doctor_names_a_broken_binding(db):
    db.execute(SWAP)
    found = record(db, "select * from reaper.diagnose_tables() where name = 'binding'")
    assert (found.verdict, "still reads public.pastes_old" in found.detail) == ("fail", True)
    assert "reaper migrate" in found.fix


BOUND_COLUMNS = {
    "an expiry": ("pastes", "expires_at type timestamptz(0)"),
    "a code": ("pastes", "short_code type varchar(100)"),
    "a status": ("pastes", "deletion_status type text"),
    "a hash": ("content", 'content_hash type varchar(70) collate "C"'),
    "a key": ("content", 'object_key type varchar(200) collate "C"'),
    "a count": ("content", "ref_count type integer"),
}


@both_claim_modes
@pytest.mark.parametrize(("table", "change"), BOUND_COLUMNS.values(), ids=BOUND_COLUMNS.keys())
def test_a_bound_column_is_altered_between_unbind_and_bind(db, paste, drain, table, change):
    paste("a", expires="-1 day")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="used by a view"):
        db.execute(f"alter table {table} alter {change}")
    with unbound(db):
        db.execute(f"alter table {table} alter {change}")
    assert verdict(db)[0] == "ok"
    assert value(db, "select count(*) from pg_trigger where tgname = 'reaper_retired_key'") == 1
    drain()
    assert codes(db) == set()


def test_what_is_not_bound_is_altered_at_any_time(db, paste, drain):
    paste("a", expires="-1 day")
    db.execute("alter table pastes add title text default 'x'")
    db.execute("alter table pastes alter title type varchar(5)")
    db.execute("alter table pastes drop column title")
    drain()
    assert codes(db) == set()


@both_claim_modes
def test_a_renamed_column_is_followed_and_the_doctor_asks_for_its_new_name(db, paste, drain):
    paste("a", expires="-1 day")
    paste("b", expires="-1 day")
    db.execute("alter table pastes rename expires_at to valid_until")
    assert verdict(db)[0] == "ok"
    named = "select verdict, detail from reaper.diagnose_tables() where name = 'bound columns'"
    assert record(db, named).verdict == "warn"
    assert "public.pastes.expires_at" in record(db, named).detail
    with refused("RP010", "column t.expires_at does not exist"):
        db.execute("select reaper.bind()")
    db.execute("""select reaper.bind('{"pastes": {"expires_at": "valid_until"}}')""")
    assert record(db, named).verdict == "ok"
    drain()
    assert codes(db) == set()


@pytest.mark.broken_on_purpose
def test_a_renamed_key_column_does_not_stop_the_application(db):
    db.execute("insert into reaper.retired_keys values ('gone', now())")
    db.execute("alter table content rename object_key to path")
    db.execute("alter table content rename content_hash to sha")
    db.execute("insert into content (sha, path) values ('x', 'y')")
    with refused("RP004", "object gone is queued for deletion"):
        db.execute("insert into content (sha) values ('gone')")
    with refused("RP004", "object gone is queued for deletion"):
        db.execute("insert into content (sha, path) values ('z', 'gone')")
    with refused("RP004", "object gone is queued for deletion"):
        db.execute("update content set path = 'gone'")


EXPRESSION = """
    update reaper.bindings
       set columns = columns - 'object_key', key_expression = '''objects/'' || content_hash'
     where name = 'content';
"""


@pytest.fixture
def by_expression(db):
    """Content whose object key is made of its hash."""
    with unbound(db):
        db.execute(EXPRESSION)
    db.execute("insert into reaper.retired_keys values ('objects/gone', now())")
    return db


@pytest.mark.broken_on_purpose
def test_a_key_that_is_an_expression_is_guarded_too(by_expression):
    db = by_expression
    db.execute("insert into content (content_hash) values ('x')")
    with refused("RP004", "object objects/gone is queued for deletion"):
        db.execute("insert into content (content_hash) values ('gone')")
    with refused("RP004", "object objects/gone is queued for deletion"):
        db.execute("update content set content_hash = 'gone'")


def test_a_key_that_is_an_expression_is_released_directly(by_expression, paste, me):
    db = by_expression
    db.execute("delete from reaper.retired_keys")
    paste("a", content="x")
    batch = me.reap()
    assert [gone.object_key for gone in me.drop(batch)] == ["objects/x"]
    assert column(db, "select object_key from reaper.retired_keys") == ["objects/x"]
    me.finish(batch)
    assert column(db, "select object_key from reaper.retired_keys") == []


@pytest.mark.broken_on_purpose
def test_an_unbound_expression_cannot_be_checked_and_says_so(by_expression):
    db = by_expression
    db.execute("select reaper.drop_bound_views()")
    with refused("RP010", "the tables are unbound"):
        db.execute("insert into content (content_hash) values ('x')")
    db.execute("delete from reaper.retired_keys")
    db.execute("insert into content (content_hash) values ('x')")


WRONG = {
    "'[]'": "p_columns must be an object of objects",
    "null": "p_columns must be an object of objects",
    """'{"pastes": "x"}'""": "p_columns must be an object of objects",
    """'{"paste": {"expires_at": "x"}}'""": "cannot be bound to a name: paste.expires_at",
    """'{"pastes": {"expire": "x"}}'""": "cannot be bound to a name: pastes.expire",
    """'{"pastes": {"expires_at": 5}}'""": "cannot be bound to a name: pastes.expires_at",
}


@pytest.mark.parametrize(("argument", "problem"), WRONG.items(), ids=WRONG.values())
def test_a_wrong_argument_leaves_the_views_as_they_are(db, paste, drain, argument, problem):
    paste("a", expires="-1 day")
    with refused("RP005", problem):
        db.execute(f"select reaper.bind({argument})")
    drain()
    assert codes(db) == set()


def test_a_column_that_does_not_exist_leaves_the_views_as_they_are(db, paste, drain):
    paste("a", expires="-1 day")
    with refused("RP010", "cannot be bound as reaper.pastes"):
        db.execute("""select reaper.bind('{"pastes": {"expires_at": "nowhere"}}')""")
    drain()
    assert codes(db) == set()


def test_unbinding_and_binding_are_audited(db):
    with unbound(db):
        pass
    assert column(db, "select action from reaper.audit order by audit_id")[-2:] == ["unbind", "bind"]


def test_an_application_without_the_table_unbinds_the_views_alone(db):
    db.execute("create role deployer login in role reaper_app")
    try:
        with db.transaction():
            db.execute("set local session authorization deployer")
            db.execute("select reaper.unbind()")
            db.execute("reset session authorization")
            guards = "select count(*) from pg_trigger where tgname = 'reaper_retired_key'"
            assert value(db, guards) == 1
            assert value(db, "select to_regclass('reaper.pastes')") is None
            db.execute("select reaper.bind()")
    finally:
        db.execute("drop role deployer")


def test_status_and_backlog_answer_while_the_tables_are_unbound(db, paste):
    paste("a", expires="-1 day")
    with db.transaction(force_rollback=True):
        db.execute("select reaper.unbind()")
        assert verdict(db)[0] == "attention"
        assert record(db, "select due_rows, oldest_due from reaper.health") == (None, None)


@pytest.fixture
def as_application(db):
    """A login that has the rights of an application and owns no table."""
    db.execute("create role stranger login in role reaper_app")
    yield db
    db.execute("reset session authorization; drop role stranger")


def test_only_the_owner_of_a_table_binds_its_columns(as_application, paste):
    """Bound to another column, live pastes would be due."""
    db = as_application
    paste("a", expires=None)
    db.execute("set session authorization stranger")
    with refused("42501", "only the owner of public.pastes may bind its columns"):
        db.execute("""select reaper.bind('{"pastes": {"expires_at": "created_at"}}')""")
    db.execute("select reaper.bind()")
    db.execute("reset session authorization")
    assert value(db, "select count(*) from reaper.claim_expired()") == 0


UNFIT = {
    """{"pastes": {"expires_at": "content_hash"}}""": "pastes.expires_at is text",
    """{"content": {"ref_count": "object_key"}}""": "content.ref_count is text",
    """{"pastes": {"short_code": "content_hash"}}""": "pastes.short_code is not unique",
}


@pytest.mark.parametrize(("columns", "problem"), UNFIT.items(), ids=UNFIT.values())
def test_a_column_that_cannot_have_the_part_is_refused(db, paste, drain, columns, problem):
    paste("a", expires="-1 day")
    with refused("RP010", problem):
        db.execute(f"select reaper.bind('{columns}')")
    drain()
    assert codes(db) == set()


NAMED = "a new paste could lose its bytes"
UNGUARDED = {
    "dropped": "drop trigger reaper_retired_key on content",
    "disabled": "alter table content disable trigger reaper_retired_key",
    "watching another column": """
        drop trigger reaper_retired_key on content;
        create trigger reaper_retired_key after insert or update of content_hash, ref_count on content
            for each row execute function reaper_internal.require_free_key('column')""",
}


@pytest.mark.broken_on_purpose
@pytest.mark.parametrize("change", UNGUARDED.values(), ids=UNGUARDED.keys())
def test_without_the_guard_no_deletion_is_handed_out(db, paste, me, change):
    paste("a", content="h", expires="-1 day", own_key=False)
    me.drop(me.claim())
    db.execute("update reaper.batches set worker = null")
    db.execute(change)
    with refused("RP010", NAMED):
        me.claim()
    with refused("RP010", "the guard of retired object keys is missing"):
        me.adopt()
    with refused("RP010", "the guard of retired object keys is missing"):
        me.call("claim_cleanup")
    assert NAMED in verdict(db)[1]


@pytest.mark.broken_on_purpose
def test_content_that_took_a_retired_name_while_unbound_is_named(db, paste, me):
    paste("a", content="h", expires="-1 day", own_key=False)
    me.drop(me.claim())
    db.execute("select reaper.unbind()")
    db.execute("insert into content (content_hash) values ('h')")
    with refused("RP004", "content uses object keys that are queued for deletion: h"):
        db.execute("select reaper.bind()")
    db.execute("delete from content")
    db.execute("select reaper.bind()")
    db.execute("drop view reaper.pastes")


def test_another_column_of_keys_needs_another_guard(db):
    db.execute('alter table content add k2 text collate "C"')
    with refused("RP010", "watches other columns"):
        db.execute("""select reaper.bind('{"content": {"object_key": "k2"}}')""")
    with db.transaction():
        db.execute("select reaper.unbind()")
        db.execute("""select reaper.bind('{"content": {"object_key": "k2"}}')""")
    db.execute("insert into reaper.retired_keys values ('gone', now())")
    with refused("RP004"):
        db.execute("insert into content (content_hash, k2) values ('x', 'gone')")
    db.execute("delete from reaper.retired_keys")


@pytest.mark.broken_on_purpose
def test_another_foreign_key_between_the_tables_protects_nothing(db, paste, me):
    paste("a", expires="-1 day")
    db.execute("alter table pastes add thumb text references content (content_hash)")
    db.execute("alter table pastes drop constraint pastes_content_hash_fkey")
    with refused("RP010", "no foreign key from public.pastes to public.content"):
        me.claim()


@pytest.mark.broken_on_purpose
def test_a_schema_that_reaper_may_not_use_is_named_with_the_grant(db, paste, me):
    paste("a", expires="-1 day")
    db.execute("create schema app; alter table pastes set schema app")
    db.execute("update reaper.bindings set bound_table = 'app.pastes' where name = 'pastes'")
    with refused("RP010", "reaper_owner may not use schema app"):
        me.claim()
    found, reasons = verdict(db)
    assert found == "attention"
    assert "grant usage on schema app to reaper_owner" in reasons
