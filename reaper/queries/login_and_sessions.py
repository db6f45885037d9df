"""Questions about the server and the login, which the doctor and the claim lock ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from reaper.queries.base import Area, reads


@dataclass(frozen=True, slots=True)
class Login:
    """Who asks, and which roles of ours that login has."""

    user: str
    is_superuser: bool
    roles: list[str]


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction of another session."""

    pid: int
    user: str | None
    application: str | None
    age: timedelta


@dataclass(frozen=True, slots=True)
class SessionSetting:
    """A setting of the login or the database that hurts."""

    name: str
    value: str


class LoginAndSessions(Area):
    """The server, and who is logged in."""

    @reads
    def identity(self) -> str:
        """What tells this database from all others."""
        return str(
            self._db.value(
                "select c.system_identifier || '/' || current_database() from pg_control_system() as c"
            )
        )

    @reads
    def login(self) -> Login:
        """Who asks."""
        return self._db.only(
            Login,
            "select session_user::text as user, r.rolsuper as is_superuser,"
            "       array(select g.rolname::text from pg_catalog.pg_roles g"
            "              where g.rolname in ('reaper_app', 'reaper_ops', 'reaper_ro', 'reaper_worker')"
            "                and pg_has_role(session_user, g.oid, 'USAGE') order by g.rolname) as roles"
            "  from pg_catalog.pg_roles r where r.rolname = session_user",
        )

    @reads
    def harmful_settings(self) -> list[SessionSetting]:
        """What this login or database sets, as every connection finds it, that hurts."""
        return self._db.all(
            SessionSetting,
            "select s.name, s.reset_val || coalesce(s.unit, '') as value from pg_catalog.pg_settings s"
            " where (s.name in ('statement_timeout', 'transaction_timeout')"
            "        and s.reset_val::bigint between 1 and 999)"
            "    or (s.name = 'lock_timeout' and s.reset_val::bigint between 1 and 99)"
            "    or (s.name in ('idle_session_timeout', 'idle_in_transaction_session_timeout')"
            "        and s.reset_val::bigint between 1 and 59999)"
            "    or (s.name = 'default_transaction_read_only' and s.reset_val = 'on')"
            "    or (s.name = 'default_transaction_isolation' and s.reset_val <> 'read committed')"
            "    or (s.name = 'standard_conforming_strings' and s.reset_val = 'off')"
            "    or (s.name = 'quote_all_identifiers' and s.reset_val = 'on')"
            "    or (s.name = 'row_security' and s.reset_val = 'off')"
            "    or (s.name = 'DateStyle' and s.reset_val not like 'ISO%%')"
            " order by s.name",
        )

    @reads
    def sees_other_sessions(self) -> bool:
        """Whether this login is told what others do."""
        return bool(self._db.value("select pg_has_role('pg_read_all_stats', 'USAGE')"))

    @reads
    def owner_sees_other_sessions(self) -> bool:
        """Whether our functions are told what others do."""
        return bool(self._db.value("select pg_has_role('reaper_owner', 'pg_read_all_stats', 'USAGE')"))

    @reads
    def oldest_transaction(self) -> OpenTransaction | None:
        """The transaction of another session that is open for longest."""
        return self._db.one(
            OpenTransaction,
            "select a.pid, a.usename::text as user, a.application_name as application,"
            "       clock_timestamp() - a.xact_start as age"
            "  from pg_catalog.pg_stat_activity a"
            " where a.xact_start is not null and a.pid <> pg_backend_pid()"
            "   and a.backend_type = 'client backend'"
            " order by a.xact_start limit 1",
        )
