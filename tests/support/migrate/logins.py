"""Logins of the cluster that are no superusers, for one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from reaper.dev.embedded import Postgres
from reaper.migrate.release_folders import installed_folders
from tests.support.migrate.release_folder import admin


class Login:
    """An ordinary login of the test's database."""

    def __init__(self, dsn: str, name: str) -> None:
        self.name, self.dsn, self._admin_dsn = name, make_conninfo(dsn, user=name), dsn

    def may(self, rights: str) -> None:
        """Grant it something."""
        with admin(self._admin_dsn) as connection:
            connection.execute(sql.SQL(f"grant {rights} to {{}}").format(sql.Identifier(self.name)))


@contextmanager
def new_login(server: Postgres, dsn: str, kind: str) -> Iterator[Login]:
    """A login without any right; it is gone afterwards with all that it owns."""
    name = f"{kind}_{uuid4().hex[:8]}"
    with psycopg.connect(server.dsn(), autocommit=True) as cluster:
        cluster.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
        yield Login(dsn, name)
        with admin(dsn) as connection:
            connection.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(name)))
        cluster.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def make_roles(dsn: str) -> None:
    """What a superuser does beforehand where the migrating login may not: reaper's roles."""
    with admin(dsn) as connection:
        connection.execute((installed_folders().sql / "roles.sql").read_bytes())


@contextmanager
def table_owner(server: Postgres, dsn: str) -> Iterator[Login]:
    """Who may have tables in public, and nothing else, in a cluster that has reaper's roles."""
    make_roles(dsn)
    with new_login(server, dsn, "owner") as login:
        login.may("create on schema public")
        yield login
