"""Tables as applications have them, and the words in which the tests speak of their retention."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.support.paste_fixtures import Connection
from tests.support.retention import Retention

GRANT = "grant select, delete, update on {} to reaper_owner"
# As pgbench makes it, but with a time that knows its zone; nobody thought of a key.
HISTORY = """
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamptz, filler char(22));
create index pgbench_history_mtime on pgbench_history (mtime);
grant select, delete, update (mtime) on pgbench_history to reaper_owner;
"""
AUDIT_LOG = """
create table audit_log (
    id bigint generated always as identity, at timestamptz not null, actor text, primary key (id, at)
) partition by range (at);
create index on audit_log (at);
create table audit_log_old partition of audit_log for values from (minvalue) to ('2020-01-01');
create table audit_log_2020 partition of audit_log for values from ('2020-01-01') to ('2021-01-01');
create table audit_log_now partition of audit_log for values from ('2021-01-01') to (maxvalue);
grant select, delete, update (at) on audit_log to reaper_owner;
"""


@pytest.fixture
def retention(db: Connection) -> Retention:
    return Retention(db)


@pytest.fixture
def make(db: Connection) -> Callable[..., None]:
    """Runs statements that make tables, and lets reaper work on those that are named."""

    def run(statements: str, *tables: str) -> None:
        db.execute(statements)
        for table in tables:
            db.execute(GRANT.format(table))

    return run


@pytest.fixture
def history(db: Connection) -> Callable[..., None]:
    """The table pgbench_history; rows of a given age are put into it."""
    db.execute(HISTORY)

    def rows(age: str, count: int = 1, tid: int = 0) -> None:
        db.execute(
            "insert into pgbench_history (tid, mtime)"
            " select %s, reaper.clock() - %s::interval from generate_series(1, %s)",
            [tid, age, count],
        )

    return rows


@pytest.fixture
def audit_log(db: Connection) -> Callable[..., None]:
    """A log in three partitions: before 2020, 2020, and since; rows of given times are put into it."""
    db.execute(AUDIT_LOG)
    return lambda *times: db.execute(
        "insert into audit_log (at) select unnest(%s::timestamptz[])", [[str(time) for time in times]]
    )


@pytest.fixture
def login(db: Connection, dsn: str) -> Iterator[Callable[..., Connection]]:
    """Logs in as a new member of some roles; roles are cluster-wide, so they are removed again."""
    opened: list[tuple[str, Connection]] = []

    def as_member_of(*roles: str, name: str = "somebody") -> Connection:
        db.execute(f"create role {name} login")
        for role in roles:
            db.execute(f"grant {role} to {name}")
        opened.append((name, psycopg.connect(dsn, user=name, autocommit=True)))
        return opened[-1][1]

    yield as_member_of
    for name, connection in opened:
        connection.close()
        db.execute(f"drop owned by {name} cascade")
        db.execute(f"drop role {name}")
