"""The roles of the cluster: who exists, who may make them, and acting as reaper_owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psycopg import errors, sql

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused

OWNER = "reaper_owner"
ROLES = (OWNER, "reaper_worker", "reaper_app", "reaper_ops", "reaper_ro")
_ATTEMPTS = 5


@dataclass(frozen=True)
class MigratorRights:
    """What the migrating role may do."""

    user: str
    missing: tuple[str, ...]
    is_superuser: bool
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

    @property
    def needs_grant(self) -> bool:
        """Whether it has still to be made a member of the owner, once the roles exist."""
        return not self.is_owner and not self.is_superuser


def migrator_rights(connection: Connection) -> MigratorRights:
    """Look at the roles without changing anything."""
    found = {row[0] for row in connection.execute("select rolname from pg_catalog.pg_roles")}
    user, superuser, createrole = connection.execute(
        "select rolname, rolsuper, rolcreaterole from pg_catalog.pg_roles where rolname = current_user"
    ).fetchone() or ("", False, False)
    owned = OWNER in found and acts_as_owner(connection)
    return MigratorRights(
        user=user,
        missing=tuple(role for role in ROLES if role not in found),
        is_superuser=superuser,
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


def refusal(now: MigratorRights, script: str) -> MigrationRefused:
    """The refusal with the SQL that a superuser must run once."""
    statements = [script.strip()] if now.missing else []
    statements.append(f"{grant_sql(now.user)};")
    return MigrationRefused(now.problem or "", "Let a superuser run this once:\n" + "\n".join(statements))


def unreadable(now: MigratorRights, error: errors.InsufficientPrivilege) -> MigrationRefused:
    """The refusal of a role that may not even look at what was migrated before."""
    return MigrationRefused(
        f"{now.user!r} may not act as {OWNER}, and what is there cannot be compared:"
        f" {error.diag.message_primary}",
        f"Let a superuser run this once:\n{grant_sql(now.user)};",
    )


def grant_sql(user: str) -> str:
    """The statement that lets a role act as the owner."""
    return f"grant {OWNER} to {sql.Identifier(user).as_string()}"


def grant_to_migrator(user: str, server_version: int) -> str:
    """The same with what the migrating role itself needs."""
    # From 16 on the creator of a role gets it with ADMIN alone: neither its rights nor SET ROLE.
    return grant_sql(user) + (" with inherit true, set true" if server_version >= 160000 else "")


def outlast_races(attempt: Callable[[], None]) -> None:
    """Try again where a migrator of another database of the cluster made or granted the same role."""
    for number in range(1, _ATTEMPTS + 1):
        try:
            attempt()
            return
        except (errors.DuplicateObject, errors.UniqueViolation, errors.InternalError_):
            if number == _ATTEMPTS:
                raise


def require_owner_rights(connection: Connection, user: str) -> None:
    """Refuse a role that is a member of the owner and still has not its rights."""
    if not acts_as_owner(connection):
        name = sql.Identifier(user).as_string()
        raise MigrationRefused(
            f"{user!r} does not inherit the rights of {OWNER}",
            f"Let a superuser run: alter role {name} inherit; {grant_sql(user)};",
        )


def _may_grant_owner(connection: Connection, createrole: bool) -> bool:
    if connection.info.server_version < 160000 and createrole:
        return True
    row = connection.execute(
        "select pg_has_role(current_user, %s, 'MEMBER WITH ADMIN OPTION')", (OWNER,)
    ).fetchone()
    return bool(row and row[0])
