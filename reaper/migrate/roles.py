"""The roles of the cluster: who exists, who may make them, and acting as reaper_owner."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import errors, sql

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused

OWNER = "reaper_owner"
ROLES = (OWNER, "reaper_worker", "reaper_app", "reaper_ops", "reaper_ro")
_ATTEMPTS = 5


@dataclass(frozen=True)
class Standing:
    """What the migrating role may do."""

    user: str
    missing: tuple[str, ...]
    may_create_roles: bool
    is_owner: bool
    may_become_owner: bool

    @property
    def problem(self) -> str | None:
        """Why this role cannot migrate, in words; None when it can."""
        if self.missing and not self.may_create_roles:
            return f"the roles {', '.join(self.missing)} do not exist, and {self.user!r} may not create roles"
        if not self.missing and not self.is_owner and not self.may_become_owner:
            return f"{self.user!r} may not act as {OWNER}"
        return None


def standing(connection: Connection) -> Standing:
    """Look at the roles without changing anything."""
    found = {row[0] for row in connection.execute("select rolname from pg_catalog.pg_roles")}
    user, superuser, createrole = connection.execute(
        "select rolname, rolsuper, rolcreaterole from pg_catalog.pg_roles where rolname = current_user"
    ).fetchone() or ("", False, False)
    owned = OWNER in found and acts_as_owner(connection)
    return Standing(
        user=user,
        missing=tuple(role for role in ROLES if role not in found),
        may_create_roles=superuser or createrole,
        is_owner=owned,
        may_become_owner=superuser or (OWNER in found and _may_grant_owner(connection, createrole)),
    )


def acts_as_owner(connection: Connection) -> bool:
    """Whether the migrating role has the owner's rights and may make it the owner of things."""
    kinds = ("USAGE", "SET") if connection.info.server_version >= 160000 else ("USAGE", "MEMBER")
    row = connection.execute(
        "select pg_has_role(current_user, %(r)s, %(a)s) and pg_has_role(current_user, %(r)s, %(b)s)",
        {"r": OWNER, "a": kinds[0], "b": kinds[1]},
    ).fetchone()
    return bool(row and row[0])


def ensure(connection: Connection, script: str) -> tuple[str, ...]:
    """Create the missing roles and act as the owner; the names of the roles that were made."""
    now = standing(connection)
    if now.problem:
        raise refusal(now, script)
    if now.missing:
        _create(connection, script)
    if not acts_as_owner(connection):
        _grant_owner(connection, now, script)
    return now.missing


def refusal(now: Standing, script: str) -> MigrationRefused:
    """The refusal with the SQL that a superuser must run once."""
    statements = [script.strip()] if now.missing else []
    statements.append(f"{grant_sql(now.user)};")
    return MigrationRefused(now.problem or "", "Let a superuser run this once:\n" + "\n".join(statements))


def grant_sql(user: str) -> str:
    """The statement that lets a role act as the owner."""
    return f"grant {OWNER} to {sql.Identifier(user).as_string()}"


def _create(connection: Connection, script: str) -> None:
    """Run the script; a migrator of another database of the cluster may win the race for the same names."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with connection.transaction():
                connection.execute(script)
            return
        except (errors.DuplicateObject, errors.UniqueViolation, errors.InternalError_):
            if attempt == _ATTEMPTS:
                raise


def _grant_owner(connection: Connection, now: Standing, script: str) -> None:
    # From 16 on the creator of a role gets it with ADMIN alone: neither its rights nor SET ROLE.
    options = " with inherit true, set true" if connection.info.server_version >= 160000 else ""
    try:
        connection.execute(grant_sql(now.user) + options)
    except errors.InsufficientPrivilege:
        raise refusal(now, script) from None
    except (errors.UniqueViolation, errors.InternalError_):
        # "tuple concurrently updated": somebody else granted it at the same moment.
        pass
    if not acts_as_owner(connection):
        raise MigrationRefused(
            f"{now.user!r} does not inherit the rights of {OWNER}",
            f"Let a superuser run: alter role {sql.Identifier(now.user).as_string()} inherit;"
            f" {grant_sql(now.user)};",
        )


def _may_grant_owner(connection: Connection, createrole: bool) -> bool:
    if connection.info.server_version < 160000 and createrole:
        return True
    row = connection.execute(
        "select pg_has_role(current_user, %s, 'MEMBER WITH ADMIN OPTION')", (OWNER,)
    ).fetchone()
    return bool(row and row[0])
