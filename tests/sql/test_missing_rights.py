"""A right that is missing is named together with the GRANT that helps."""

import pytest

from reaper.db.connection import connect as connect_as_reaper
from reaper.db.missing_rights import ROLES
from reaper.errors import DatabaseError
from reaper.queries import Queries
from reaper.queries.base import directly
from tests.support.paste_fixtures import column, refused, value

REVOKED = {
    "begin_put": ("insert on content", "select * from reaper.begin_put('new', 'h', 1)"),
    "commit_put": ("insert on pastes", "select * from reaper.commit_put('{intent}', false)"),
    "extend_paste": ("update on pastes", "select reaper.extend_paste('a', null)"),
    "delete_paste": ("update on pastes", "select reaper.delete_paste('a')"),
    "claim_expired": ("delete on pastes", "select * from reaper.claim_expired()"),
}


@pytest.fixture
def login(db, server):
    """A login of its own, and our questions under its name; cluster-wide, so it is removed again."""
    db.execute('create role "odd login" login')
    connection = connect_as_reaper(server.dsn(db.info.dbname, user="odd login"), "test:0")
    yield Queries(connection, directly)
    connection.close()
    db.execute('drop owned by "odd login"; drop role "odd login"')


@pytest.mark.parametrize(("revoked", "call"), REVOKED.values(), ids=REVOKED)
def test_a_right_that_the_owner_lacks_on_a_bound_table_comes_with_its_grant(db, paste, revoked, call):
    paste("a", content="h")
    intent = value(db, "select intent_id from reaper.begin_put('b', 'h', 10)")
    db.execute(f"revoke {revoked} from reaper_owner")
    table = f"public.{revoked.split()[-1]}"
    privilege = revoked.split()[0]
    with refused("RP010", f"reaper_owner has no right to {privilege} rows of {table}") as refusal:
        db.execute(call.format(intent=intent))
    hint = f"grant select, insert, update, delete on {table} to reaper_owner"
    assert refusal.value.diag.message_hint == hint
    db.execute(hint)
    db.execute(call.format(intent=intent))


@pytest.mark.parametrize(
    ("has", "ask", "grant"),
    [
        ("reaper_ro", lambda q: q.heartbeat("w"), 'grant reaper_worker to "odd login" (or reaper_ops)'),
        ("reaper_worker", lambda q: q.run_now("drain", None), 'grant reaper_ops to "odd login"'),
        (
            "reaper_app",
            lambda q: q.schedule(),
            'grant reaper_ro to "odd login" (or reaper_worker or reaper_ops)',
        ),
        (
            None,
            lambda q: q.count_due(),
            'grant reaper_ro to "odd login" (or reaper_app or reaper_worker or reaper_ops)',
        ),
    ],
)
def test_a_login_is_told_which_role_it_lacks(db, login, has, ask, grant):
    if has:
        db.execute(f'grant {has} to "odd login"')
    with pytest.raises(DatabaseError, match="permission denied") as refusal:
        ask(login)
    assert (refusal.value.sqlstate, refusal.value.hint) == ("42501", f"Run: {grant}")


def test_every_role_that_a_hint_may_name_exists(db):
    found = column(db, "select rolname from pg_roles where rolname = any (%s)", list(ROLES))
    assert set(found) == set(ROLES)


def test_a_denial_about_an_object_of_others_gets_no_hint(login):
    with pytest.raises(DatabaseError, match="permission denied") as refusal:
        login._db.value("select count(*) from public.pastes")
    assert refusal.value.hint is None
