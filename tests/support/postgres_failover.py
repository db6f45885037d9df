"""A primary with a migrated database, and a standby that misses what it is told to before it takes over."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import psycopg

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate
from tests.support.cloned_databases import AT_HOME
from tests.support.postgres_node import Node
from tests.support.waiting import wait_until

TEMPLATE = "reaper_template"
STREAMS = "select count(*) from pg_stat_replication where state = 'streaming'"
HAS = "select coalesce(bool_and(flush_lsn >= %s), false) from pg_stat_replication"
RECEIVES = "select count(*) from pg_stat_wal_receiver"


class Servers:
    """Who is the primary changes with each failover; `dsn` leads to whoever it is."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.standby: Node | None = None
        self.primary = Node.made()
        self.primary.start()
        self.primary.sql(f"create database {TEMPLATE}")
        migrate(self.primary.dsn(TEMPLATE))
        # Otherwise nobody may see how far a standby is.
        self.primary.sql("grant pg_read_all_stats to reaper_owner")

    @contextmanager
    def database(self) -> Iterator[str]:
        """The name of a database of one's own."""
        name = f"reaper_{next(self._numbers)}"
        self.primary.sql(f"create database {name} template {TEMPLATE} strategy file_copy")
        with psycopg.connect(self.primary.dsn(name), autocommit=True) as connection:
            connection.execute(AT_HOME)
        yield name
        self.primary.sql(f"drop database {name} with (force)")

    def dsn(self, dbname: str) -> str:
        """The addresses of all servers: whoever connects finds the one that takes writes."""
        nodes = [node for node in (self.primary, self.standby) if node]
        hosts, ports = ",".join(node.host for node in nodes), ",".join([str(Postgres.port)] * len(nodes))
        who = f"postgresql://{Postgres.user}@/{dbname}?host={hosts}&port={ports}"
        return f"{who}&target_session_attrs=read-write"

    def add_standby(self) -> None:
        """A copy of the primary that receives all that is committed, a little later."""
        self.standby = self.primary.copied()
        self.standby.start()
        wait_until(lambda: self.primary.sql(STREAMS) == [(1,)])

    def remove_standby(self) -> None:
        """Leave the primary alone; it waits for nobody any more."""
        self.primary.reload("synchronous_standby_names", "")
        if self.standby is not None:
            self.standby.__exit__()
            self.standby = None

    def catch_up(self) -> None:
        """Return when the standby has all that was committed until now."""
        [(end,)] = self.primary.sql("select pg_current_wal_flush_lsn()")
        wait_until(lambda: self.primary.sql(HAS, end) == [(True,)])

    def cut(self) -> None:
        """From now on the standby receives nothing."""
        standby = self.standby
        assert standby is not None
        standby.reload("primary_conninfo", "")
        wait_until(lambda: standby.sql(RECEIVES) == [(0,)])

    def fail_over(self) -> None:
        """Kill the primary and promote the standby: what that did not receive has never happened."""
        assert self.standby is not None
        self.primary.crash()
        self.standby.promote()
        gone, self.primary, self.standby = self.primary, self.standby, None
        gone.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove_standby()
        self.primary.__exit__()
