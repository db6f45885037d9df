"""Foreign keys and triggers: what forbids a policy, what needs consent, and what consent does not cover."""

import pytest

from tests.support.paste_fixtures import column, refused, value
from tests.support.retention import refusal

PARENT = "create table orders (id int primary key, at timestamptz); create index on orders (at);"
CHILD = """
create table items (id int primary key, order_id int references orders {});
create index items_order on items (order_id);
"""
ROWS = """
insert into orders select i, now() - i * interval '1 year' + interval '1 day' from generate_series(1, 4) as i;
insert into items select i, i from generate_series(1, 4) as i;
"""
NOTE = """
create table gone (id int);
create function note() returns trigger language plpgsql security definer as $$
begin
    insert into public.gone values (old.id);
    return old;
end $$;
"""


@pytest.fixture
def orders(make):
    """Orders, the oldest of which go, and items that refer to them in some way."""

    def related(action, more=""):
        make(PARENT + CHILD.format(action) + ROWS + more, "orders")

    return related


@pytest.mark.parametrize(
    "action", ["", "on delete restrict", "on delete no action deferrable initially deferred"]
)
@pytest.mark.parametrize("consent", [False, True])
def test_a_foreign_key_that_forbids_deletions_is_refused_with_or_without_consent(
    retention, orders, action, consent
):
    orders(action)
    message, hint = refusal(retention, "p", "orders", "at", allow_cascade=consent)
    assert "foreign key items_order_id_fkey of public.items forbids deletions from public.orders" in message
    assert "on delete cascade" in hint


def test_the_hint_turns_the_foreign_key_into_a_cascade(db, retention, orders):
    orders("on delete restrict")
    hint = refusal(retention, "p", "orders", "at")[1]
    db.execute(hint)
    assert retention.purge(retention.enabled("p", "orders", "at", "1 year", allow_cascade=True)) == 3
    assert column(db, "select order_id from items") == [1]


@pytest.mark.parametrize("action", ["cascade", "set null", "set default"])
def test_a_foreign_key_that_spreads_deletions_needs_consent(retention, orders, action):
    orders(f"on delete {action}")
    message, hint = refusal(retention, "p", "orders", "at")
    assert "rows of public.items" in message
    assert "--allow-cascade" in hint
    retention.add("p", "orders", "at", allow_cascade=True)


def test_with_consent_the_children_go_too(db, retention, orders):
    orders("on delete cascade")
    assert retention.purge(retention.enabled("p", "orders", "at", "1 year", allow_cascade=True)) == 3
    assert column(db, "select order_id from items") == [1]


def test_with_consent_the_children_are_set_free(db, retention, orders):
    orders("on delete set null")
    retention.purge(retention.enabled("p", "orders", "at", "1 year", allow_cascade=True))
    assert column(db, "select count(order_id) from items union all select count(*) from items") == [1, 4]


@pytest.mark.parametrize(
    "index",
    [
        "select 1",
        "create index on items (id, order_id)",
        "create index on items (order_id) where id > 0",
        "create index on items using brin (order_id)",
    ],
)
def test_a_foreign_key_whose_columns_have_no_index_is_refused_with_the_index(db, retention, orders, index):
    orders("on delete cascade", f"drop index items_order; {index}")
    message, hint = refusal(retention, "p", "orders", "at", allow_cascade=True)
    assert "every deleted row would read all of public.items" in message
    assert hint == "create index concurrently on public.items (order_id);"
    db.execute(hint)
    retention.add("p", "orders", "at", allow_cascade=True)


@pytest.mark.parametrize("index", ["(b, a)", "(a, b, id)"])
def test_the_columns_of_a_composite_foreign_key_may_be_indexed_in_any_order(make, retention, index):
    make(
        "create table p (a int, b int, at timestamptz, primary key (a, b)); create index on p (at);"
        "create table c (id int, a int, b int, foreign key (a, b) references p on delete cascade);",
        "p",
    )
    hint = refusal(retention, "x", "p", "at", allow_cascade=True)[1]
    assert hint == "create index concurrently on public.c (a, b);"
    make(f"create index on c {index}")
    retention.add("x", "p", "at", allow_cascade=True)


def test_a_cascade_is_followed_to_its_end(retention, orders):
    orders("on delete cascade", "create table notes (item_id int references items)")
    message, hint = refusal(retention, "p", "orders", "at", allow_cascade=True)
    assert "foreign key notes_item_id_fkey of public.notes forbids deletions from public.items" in message
    assert "create index concurrently on public.notes (item_id);" in hint


def test_a_table_that_refers_to_itself_is_no_exception(make, retention):
    make(
        "create table t (id int primary key, at timestamptz, up int references t);"
        "create index on t (at); create index on t (up)",
        "t",
    )
    assert "forbids deletions from public.t" in refusal(retention, "p", "t", "at", allow_cascade=True)[0]


def test_a_foreign_key_to_a_partitioned_table_is_told_once(retention, audit_log, make):
    audit_log("2019-01-01")
    make("create table seen (id bigint, at timestamptz, foreign key (id, at) references audit_log)")
    make("create index on seen (id, at)")
    assert refusal(retention, "p", "audit_log", "at")[0].count("forbids") == 1
    assert "forbids" in refusal(retention, "p", "audit_log_old", "at")[0]


def test_the_partitions_that_refer_need_an_index_each(retention, orders):
    orders(
        "on delete cascade",
        "create table parts (order_id int references orders on delete cascade) partition by hash (order_id);"
        "create table parts_0 partition of parts for values with (modulus 1, remainder 0)",
    )
    message, hint = refusal(retention, "p", "orders", "at", allow_cascade=True)
    assert message.count("of public.parts has no index") == 1
    assert hint == "create index concurrently on public.parts_0 (order_id);"


@pytest.mark.parametrize("action", ["", "on delete cascade", "on delete set null"])
def test_pastes_never_go_by_a_cascade_because_nobody_would_release_their_content(retention, make, action):
    make(
        "create table users (id int primary key, at timestamptz); create index on users (at);"
        f"alter table pastes add user_id int references users {action}; create index on pastes (user_id)",
        "users",
    )
    message, hint = refusal(retention, "p", "users", "at", allow_cascade=True)
    assert "without releasing their content" in message
    assert "Set expires_at" in hint


@pytest.mark.parametrize(
    "trigger",
    [
        "before delete on orders for each row",
        "after delete on orders for each row",
        "after insert or delete on orders for each row",
        "after delete on orders referencing old table as o for each statement",
    ],
)
def test_a_trigger_that_sees_deleted_rows_needs_consent(retention, orders, trigger):
    orders("on delete cascade", NOTE + f"create trigger noted {trigger} execute function note()")
    message, hint = refusal(retention, "p", "orders", "at")
    assert "trigger noted of public.orders acts on every deleted row" in message
    assert "--allow-cascade" in hint
    retention.add("p", "orders", "at", allow_cascade=True)


def test_with_consent_the_trigger_fires_for_every_row(db, retention, orders):
    orders(
        "on delete cascade",
        NOTE + "create trigger n after delete on orders for each row execute function note()",
    )
    retention.purge(retention.enabled("p", "orders", "at", "1 year", allow_cascade=True))
    assert column(db, "select id from gone order by id") == [2, 3, 4]


@pytest.mark.parametrize(
    "trigger",
    [
        "after delete on pgbench_history for each statement",
        "after insert or update on pgbench_history for each row",
        "after truncate on pgbench_history for each statement",
    ],
)
@pytest.mark.usefixtures("history")
def test_a_trigger_that_sees_no_deleted_row_needs_none(db, retention, trigger):
    db.execute(NOTE + f"create trigger noted {trigger} execute function note()")
    retention.add("p", "pgbench_history", "mtime")


def test_a_trigger_that_is_switched_off_counts_from_when_it_is_switched_on(db, retention, orders):
    orders("", "drop table items;" + NOTE)
    db.execute("create trigger n after delete on orders for each row execute function note()")
    db.execute("alter table orders disable trigger n")
    policy = retention.enabled("p", "orders", "at", "1 year")
    assert retention.purge(policy, 1) == 1
    db.execute("alter table orders enable trigger n")
    with refused("RP005", "acts on every deleted row"):
        retention.purge(policy, 1)


def test_a_trigger_of_one_partition_counts_too(db, retention, audit_log):
    audit_log("2019-01-01")
    db.execute(NOTE + "create trigger n after delete on audit_log_old for each row execute function note()")
    assert "trigger n of public.audit_log_old" in refusal(retention, "p", "audit_log", "at")[0]
    db.execute("drop trigger n on audit_log_old")
    db.execute("create trigger n after delete on audit_log for each row execute function note()")
    assert refusal(retention, "p", "audit_log", "at")[0].count("trigger n") == 1
    assert "trigger n of public.audit_log_old" in refusal(retention, "p", "audit_log_old", "at")[0]


def test_a_trigger_that_others_may_rewrite_never_runs_as_reaper_owner(db, retention, orders, login):
    orders(
        "on delete cascade",
        NOTE + "create trigger n after delete on orders for each row execute function note()",
    )
    login("reaper_ops")
    db.execute("alter function note() owner to somebody; grant insert on gone to somebody")
    retention.enabled("p", "orders", "at", "1 year", allow_cascade=True)
    db.execute("alter function note() security invoker")
    with refused("RP005", "would run with the rights of reaper_owner") as caught:
        retention.purge("p")
    db.execute(caught.value.diag.message_hint)
    assert retention.purge("p") == 3
    db.execute("alter function note() owner to current_user")


def test_a_rule_is_refused_with_or_without_consent(retention, make, history):
    history("1 year")
    make("create rule kept as on delete to pgbench_history do instead nothing")
    message, hint = refusal(retention, "p", "pgbench_history", "mtime", allow_cascade=True)
    assert "rule kept of public.pgbench_history rewrites deletions" in message
    assert hint == "drop rule kept on public.pgbench_history"


def test_a_batch_that_a_trigger_breaks_deletes_nothing(db, retention, orders):
    orders(
        "on delete cascade",
        "create function no() returns trigger language plpgsql as $$ begin"
        " if old.id = 3 then raise exception 'not this one'; end if; return old; end $$;"
        "create trigger n before delete on items for each row execute function no()",
    )
    policy = retention.enabled("p", "orders", "at", "1 year", allow_cascade=True)
    with refused("P0001"):
        retention.purge(policy)
    assert value(db, "select count(*) from orders") == 4
