"""Backends: registered, limited, switched, and their byte accounts, which are only ever added to."""

import pytest

from tests.support.paste_fixtures import Connection, column, record, refused, value

ENDLESS = 2**63 - 1


def backend(db: Connection, name: str = "east"):
    return record(db, "select * from reaper.backends where name = %s", name)


def balance(db: Connection, name: str = "east") -> tuple[int, int, int]:
    """Used, orphan and reserved bytes."""
    row = backend(db, name)
    return row.bytes_used, row.orphan_bytes, row.reserved_bytes


def add(db: Connection, used: int = 0, orphan: int = 0, reserved: int = 0, name: str = "east") -> None:
    db.execute("select reaper_internal.add_bytes(%s, %s, %s, %s)", [name, used, orphan, reserved])


def rows(db: Connection) -> int:
    return int(value(db, "select count(*) from reaper.byte_deltas"))


@pytest.fixture
def east(db):
    db.execute("select reaper.register_backend('east', 1000)")


def test_one_backend_is_always_there_and_takes_as_much_as_comes(db):
    assert column(db, "select name from reaper.backends") == ["default"]
    assert backend(db, "default").quota is None
    assert backend(db, "default").free_bytes is None
    assert backend(db, "default").circuit == "closed"


@pytest.mark.usefixtures("east")
def test_a_backend_is_registered_once_and_begins_active_and_empty(db):
    db.execute("select reaper.register_backend('east', 1000)")
    assert column(db, "select name from reaper.backends") == ["default", "east"]
    assert (backend(db).quota, backend(db).free_bytes, backend(db).state) == (1000, 1000, "active")
    assert balance(db) == (0, 0, 0)


@pytest.mark.usefixtures("east")
def test_the_quota_follows_the_configuration_until_somebody_decides_otherwise(db):
    db.execute("select reaper.register_backend('east', 2000)")
    assert backend(db).quota == 2000
    db.execute("select reaper.set_quota('east', 500, 'the disk is small')")
    db.execute("select reaper.register_backend('east', 3000)")
    assert backend(db).quota == 500


@pytest.mark.usefixtures("east")
def test_a_quota_that_leaves_the_configuration_is_lifted(db):
    db.execute("select reaper.register_backend('east')")
    assert backend(db).quota is None


@pytest.mark.usefixtures("east")
def test_registering_what_is_known_waits_for_nobody(db, connect):
    with db.transaction():
        db.execute("select from reaper.backend_list where name = 'east' for update")
        other = connect()
        other.execute("set lock_timeout = '1s'")
        other.execute("select reaper.register_backend('east', 1000)")


@pytest.mark.parametrize("name", ["", None, "-east", "a/b", "ä", "x" * 64])
def test_a_name_that_would_not_fit_a_file_or_a_label_is_refused(db, name):
    with refused("RP005", "invalid backend name"):
        db.execute("select reaper.register_backend(%s)", [name])


@pytest.mark.usefixtures("east")
def test_a_quota_is_changed_with_a_reason_and_audited(db):
    add(db, used=600)
    db.execute("select reaper.set_quota('east', 500, 'the disk is small')")
    assert (backend(db).quota, backend(db).free_bytes) == (500, -100)
    db.execute("select reaper.set_quota('east', null, 'the disk is large')")
    assert (backend(db).quota, backend(db).free_bytes) == (None, None)
    assert db.execute(
        "select action, subject, reason, detail from reaper.audit order by audit_id"
    ).fetchall() == [
        ("set_quota", "east", "the disk is small", "from 1000 to 500"),
        ("set_quota", "east", "the disk is large", "from 500 to no quota"),
    ]


@pytest.mark.usefixtures("east")
def test_a_backend_is_made_readonly_with_a_reason_and_audited(db):
    db.execute("select reaper.set_backend_state('east', 'readonly', 'it moves')")
    assert backend(db).state == "readonly"
    assert record(db, "select action, subject, reason, detail from reaper.audit") == (
        *("set_backend_state", "east", "it moves", "from active to readonly"),
    )


@pytest.mark.usefixtures("east")
@pytest.mark.parametrize(
    "call",
    [
        "set_quota('west', 1, 'why')",
        "set_quota('east', -1, 'why')",
        "set_quota('east', 1, ' ')",
        "set_quota('east', 1, null)",
        "set_backend_state('west', 'active', 'why')",
        "set_backend_state('east', 'broken', 'why')",
        "set_backend_state('east', null, 'why')",
        "set_backend_state('east', 'readonly', '')",
        "register_backend('west', -1)",
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(db, call):
    before = db.execute("select * from reaper.backends").fetchall()
    with refused("RP005"):
        db.execute(f"select reaper.{call}")
    assert db.execute("select * from reaper.backends").fetchall() == before
    assert column(db, "select action from reaper.audit") == []


@pytest.mark.usefixtures("east")
def test_the_balance_is_the_sum_of_all_that_was_added(db):
    add(db, used=300, reserved=50)
    add(db, used=-100, orphan=100)
    add(db, used=7, name="default")
    assert balance(db) == (200, 100, 50)
    assert backend(db).free_bytes == 650
    assert balance(db, "default") == (7, 0, 0)


@pytest.mark.usefixtures("east")
def test_nothing_added_is_nothing_written(db):
    add(db)
    assert rows(db) == 0


@pytest.mark.usefixtures("east")
def test_sizes_beyond_all_measure_do_not_break_the_account(db):
    add(db, orphan=ENDLESS)
    add(db, orphan=ENDLESS)
    assert (backend(db).orphan_bytes, backend(db).free_bytes) == (ENDLESS, -ENDLESS - 1)
    add(db, orphan=-ENDLESS)
    add(db, orphan=-ENDLESS)
    assert balance(db) == (0, 0, 0)


@pytest.mark.usefixtures("east")
def test_folding_leaves_one_row_per_backend_and_every_balance_as_it_was(db):
    for size in range(1, 101):
        add(db, used=size, orphan=2 * size, reserved=3 * size)
        add(db, used=size, name="default")
    before = db.execute("select * from reaper.backends").fetchall()
    assert value(db, "select reaper.fold_accounts()") == 200
    assert db.execute("select * from reaper.backends").fetchall() == before
    assert rows(db) == 2
    assert value(db, "select reaper.fold_accounts()") == 0, "a single row is left as it is"


@pytest.mark.usefixtures("east")
def test_folding_is_bounded_and_can_keep_to_one_backend(db):
    for _ in range(10):
        add(db, used=1)
        add(db, used=1, name="default")
    assert value(db, "select reaper.fold_accounts(6, 'east')") == 6
    assert rows(db) == 15
    assert (balance(db), balance(db, "default")) == ((10, 0, 0), (10, 0, 0))


@pytest.mark.usefixtures("east")
def test_two_that_fold_at_once_do_not_wait_and_lose_nothing(db, connect):
    for _ in range(10):
        add(db, used=1)
    other = connect()
    other.execute("set lock_timeout = '1s'")
    with db.transaction():
        assert value(db, "select reaper.fold_accounts(4)") == 4
        add(other, used=5)
        assert value(other, "select reaper.fold_accounts()") == 7
        assert balance(other) == (15, 0, 0)
    assert balance(db) == (15, 0, 0)


@pytest.mark.usefixtures("east")
def test_a_fold_that_is_rolled_back_leaves_the_account_as_it_was(db):
    for _ in range(10):
        add(db, used=1)
    with db.transaction(force_rollback=True):
        value(db, "select reaper.fold_accounts()")
    assert (rows(db), balance(db)) == (10, (10, 0, 0))
