"""The doctor: is everything set up as reaper needs it? Each check is ok, warn or fail, with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from reaper.db.connection import Connection
from reaper.errors import DatabaseError, ReaperError
from reaper.migrate import check_schema, code, schema_version
from reaper.migrate.release_folders import ReleaseFolders, installed_folders
from reaper.ops.code_drift import compare_code, compare_grants
from reaper.ports import Cache, ObjectStore
from reaper.queries import Queries
from reaper.queries.backends import BackendState
from reaper.queries.checks import Diagnosis

_OLD = timedelta(minutes=10)
_RELOAD = "Reload the code of this release: delete from reaper.code_files (as the owner), then reaper migrate"


def ok(name: str, detail: str) -> Diagnosis:
    """All is well."""
    return Diagnosis(name, "ok", detail)


def warn(name: str, detail: str, fix: str | None) -> Diagnosis:
    """It works, and it could be better."""
    return Diagnosis(name, "warn", detail, fix)


def fail(name: str, detail: str, fix: str | None) -> Diagnosis:
    """Work would fail, or data is in danger."""
    return Diagnosis(name, "fail", detail, fix)


@dataclass(frozen=True)
class Doctor:
    """Examines the database with the rights of the login; those of reaper_worker are enough."""

    connection: Connection
    folders: ReleaseFolders
    # Those that are configured here.
    backends: Sequence[str] = ()
    bind: Callable[[Connection], Queries] = Queries

    @property
    def q(self) -> Queries:
        """What is asked."""
        return self.bind(self.connection)

    @classmethod
    def of_release(cls, connection: Connection, backends: Sequence[str] = ()) -> Doctor:
        """One that compares with the installed release."""
        return cls(connection, installed_folders(), backends)

    def examine(self) -> Iterator[Diagnosis]:
        """Every check of the database; what needs the schema is left out where that is missing or older."""
        yield self._login()
        schema = self._schema()
        yield schema
        if schema.verdict == "fail":
            return
        for name, check in {
            "code": self._code,
            "grants": self._grants,
            "tables, settings, rights": self.q.diagnoses,
            "old snapshots": self._snapshots,
            "throttle": self._throttle,
            "backends": self._backends,
        }.items():
            yield from _guarded(name, check)

    def _login(self) -> Diagnosis:
        login = self.q.login()
        user, roles = login.user, login.roles
        if login.is_superuser:
            return warn(
                "login",
                f"{user} is a superuser",
                "Give the processes a login of their own: grant reaper_worker to …",
            )
        if "reaper_worker" in roles:
            return ok("login", f"{user} is {', '.join(roles)}")
        detail = f"{user} is {', '.join(roles) or 'no role of reaper'}"
        return (warn if roles else fail)(
            "login", detail, f"To run workers with this login: grant reaper_worker to {user}"
        )

    def _schema(self) -> Diagnosis:
        try:
            check_schema(self.connection, self.folders)
        except ReaperError as error:
            return fail("schema", error.message, error.hint)
        return ok("schema", f"at {schema_version(self.connection)}")

    def _code(self) -> list[Diagnosis]:
        try:
            found = compare_code(self.connection, code.read(self.folders.sql))
        except DatabaseError as error:
            # No right to make temporary objects, or a standby.
            return [
                warn(
                    "code",
                    f"could not be compared: {error.message}",
                    "Run reaper doctor on the primary, as the owner.",
                )
            ]
        if wrong := found.changed + found.missing:
            return [fail("code", f"differs from this release: {', '.join(wrong)}", _RELOAD)]
        if found.strange:
            return [
                warn(
                    "code",
                    f"not part of this release: {', '.join(found.strange)}",
                    "Move it to another schema.",
                )
            ]
        return [ok("code", "every function and view is that of this release")]

    def _grants(self) -> list[Diagnosis]:
        found = compare_grants(self.connection, code.read(self.folders.sql))
        if found.missing:
            return [fail("grants", f"missing: {', '.join(found.missing)}", _RELOAD)]
        if found.surplus:
            return [
                warn(
                    "grants",
                    f"surplus: {', '.join(found.surplus)}",
                    "Revoke grants that you did not add on purpose.",
                )
            ]
        return [ok("grants", "as declared")]

    def _throttle(self) -> list[Diagnosis]:
        if self.q.owner_sees_other_sessions():
            return [ok("throttle", "can see replicas and snapshots")]
        fix = "grant pg_read_all_stats to reaper_owner"
        return [
            warn(
                "throttle", "cannot see other sessions: drains do not wait for replicas that are behind", fix
            )
        ]

    def _backends(self) -> list[Diagnosis]:
        if not self.backends:
            return [ok("backends", "none is configured here")]
        odd = [b for b in self.q.backends() if b.circuit != "closed" or b.name not in self.backends]
        return [self._backend(b) for b in odd] or [ok("backends", ", ".join(self.backends))]

    def _backend(self, backend: BackendState) -> Diagnosis:
        if backend.name in self.backends:
            return warn(
                f"circuit {backend.name}",
                f"{backend.circuit}: {backend.last_error}",
                "reaper probes it every minute; check the store.",
            )
        fix = "Add it to reaper.toml: this process neither reads nor deletes the objects of this backend."
        return warn(f"backend {backend.name}", "known to PostgreSQL, not configured here", fix)

    def _snapshots(self) -> list[Diagnosis]:
        name = "old snapshots"
        if not self.q.sees_other_sessions():
            return [warn(name, "cannot see other sessions", "grant pg_monitor to the login of reaper doctor")]
        oldest = self.q.oldest_transaction()
        if oldest is None or oldest.age < _OLD:
            return [ok(name, "no transaction is older than 10 minutes")]
        who = f"session {oldest.pid} ({oldest.user}, {oldest.application or 'no application_name'})"
        detail = f"{who} has a transaction open for {int(oldest.age.total_seconds() // 60)} minutes"
        fix = f"It keeps deleted rows on disk. End it: select pg_terminate_backend({oldest.pid})"
        return [warn(name, detail, fix)]


def examine_store(name: str, store: ObjectStore, probe: bool) -> Iterator[Diagnosis]:
    """Whether the bucket can be used; with `probe` an object is written and deleted there."""
    label = f"bucket {name}"
    try:
        store.check()
        yield ok(label, repr(store))
        if probe:
            store.probe()
            yield ok(f"{label}, probe", "an object was written, found, deleted and is gone")
    except ReaperError as error:
        yield fail(label, error.message, error.hint)
    yield from (warn(label, note, None) for note in store.notes)


def examine_cache(cache: Cache) -> Iterator[Diagnosis]:
    """Whether the cache answers; without it drains work, and entries stay until it answers."""
    try:
        cache.check()
        yield ok("cache", "answers")
    except ReaperError as error:
        yield warn("cache", error.message, error.hint)


def _guarded(name: str, check: Callable[[], list[Diagnosis]]) -> Iterator[Diagnosis]:
    try:
        yield from check()
    except ReaperError as error:
        yield fail(name, error.message, error.hint)
