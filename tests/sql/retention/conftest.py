"""Tables as applications have them, and the words in which the tests speak of their retention."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.support.paste_fixtures import Connection, record, value

PATIENCE = 30.0
BLOCKED = "select cardinality(pg_blocking_pids(%s)) > 0"
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


class Retention:
    """Registers policies and purges, at one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, name: str, table: str, column: str, max_age: str = "3 months", **more: Any) -> str:
        """Register a policy that is not enabled."""
        arguments = {"name": name, "table": table, "column": column, "max_age": max_age, **more}
        query = sql.SQL("select reaper.add_retention_policy({})").format(
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(f"p_{each}"), sql.Placeholder(each))
                for each in arguments
            )
        )
        self.connection.execute(query, arguments)
        return name

    def enabled(self, *arguments: Any, **more: Any) -> str:
        """Register a policy and enable it."""
        name = self.add(*arguments, **more)
        self.connection.execute("select reaper.enable_policy(%s)", [name])
        return name

    def purge(self, name: str, limit: int | None = None) -> int:
        return int(value(self.connection, "select reaper.purge_aged(%s, %s)", name, limit))

    def purge_all(self, name: str, limit: int) -> list[int]:
        """Purge as the job does: again if and only if the limit was reached; what each run deleted."""
        runs = [self.purge(name, limit)]
        while runs[-1] == limit:
            runs.append(self.purge(name, limit))
        return runs

    def plan(self, name: str) -> Any:
        return record(self.connection, "select * from reaper.plan_policy(%s)", name)


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
def waits(db: Connection) -> Callable[[Connection], None]:
    """Returns as soon as the other connection waits for a lock."""

    def until_blocked(connection: Connection) -> None:
        deadline = time.monotonic() + PATIENCE
        while not value(db, BLOCKED, connection.info.backend_pid):
            assert time.monotonic() < deadline, "it never waited"

    return until_blocked


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
