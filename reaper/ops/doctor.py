"""The doctor: is everything set up as reaper needs it? Each check is ok, warn or fail, with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from reaper.db.connection import Connection
from reaper.db.pooler import HINT, pooler_problem
from reaper.errors import DatabaseError, ReaperError, Unreachable
from reaper.migrate import check_schema, code, schema_version
from reaper.migrate.preflight import ENCODING_HINT, encoding_problem
from reaper.migrate.release_folders import ReleaseFolders, installed_folders
from reaper.ops.code_drift import compare_code, compare_grants
from reaper.ports import Cache, ObjectStore
from reaper.queries import Ask, Queries
from reaper.queries.backends import BackendState
from reaper.queries.checks import Diagnosis
from reaper.storage.ownership import OTHER, Ownership

_OLD = timedelta(minutes=10)
_RELOAD = "Reload the code of this release: delete from reaper.code_files (as the owner), then reaper migrate"


def ok(name: str, detail: str) -> Diagnosis:
    """All is well."""
    return Diagnosis(name, "ok", detail)


def warn(name: str, detail: str, fix: str | None) -> Diagnosis:
    """It works, and it could be better."""
    return Diagnosis(name, "warn", detail, fix)


def fail(name: str, detail: str, fix: str | None) -> Diagnosis:
    """Work would fail or wait, or data is in danger: what the verdict calls attention is no less here."""
    return Diagnosis(name, "fail", detail, fix)


def unlooked(_: Ask) -> None:
    """Asked to look for the objects, do nothing: no bucket is configured here."""


@dataclass(frozen=True)
class Doctor:
    """Examines the database with the rights of the login; those of reaper_worker are enough."""

    connection: Connection
    folders: ReleaseFolders
    # Those that are configured here.
    backends: Sequence[str] = ()
    bind: Callable[[Connection], Queries] = Queries
    # Finds out whether objects lie under the bound keys, before PostgreSQL is asked what it knows of them.
    look_for_objects: Callable[[Ask], object] = unlooked

    @property
    def q(self) -> Queries:
        """What is asked."""
        return self.bind(self.connection)

    @classmethod
    def of_release(
        cls,
        connection: Connection,
        backends: Sequence[str] = (),
        look_for_objects: Callable[[Ask], object] = unlooked,
    ) -> Doctor:
        """One that compares with the installed release."""
        return cls(connection, installed_folders(), backends, look_for_objects=look_for_objects)

    def examine(self) -> Iterator[Diagnosis]:
        """Every check of the database; what needs the schema is left out where that is missing or older."""
        yield self._encoding()
        yield self._login()
        schema = self._schema()
        yield schema
        if schema.verdict == "fail":
            return
        for name, check in {
            "code": self._code,
            "grants": self._grants,
            "look for objects": self._look,
            "tables, settings, rights": self.q.diagnoses,
            "settings of the login": self._settings,
            "old snapshots": self._snapshots,
            "throttle": self._throttle,
            "backends": self._backends,
            "installation": self._installation,
        }.items():
            yield from _guarded(name, check)

    def _encoding(self) -> Diagnosis:
        problem = encoding_problem(self.connection)
        return fail("encoding", problem, ENCODING_HINT) if problem else ok("encoding", "UTF8")

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
            found = compare_code(self.connection, code.read(self.folders.sql, self.q.queue_schema()))
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
        found = compare_grants(self.connection, code.read(self.folders.sql, self.q.queue_schema()))
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

    def _look(self) -> list[Diagnosis]:
        """What was found is told by the check of the object keys; here only why it could not be looked."""
        q = self.q
        try:
            self.look_for_objects(lambda question: question(q))
        except DatabaseError as error:
            # No right to record it, or a standby.
            return [warn("look for objects", error.message, "Run reaper doctor with the worker's role.")]
        return []

    def _settings(self) -> list[Diagnosis]:
        """What commands and workers set back for themselves, and applications and psql do not."""
        name = "settings of the login"
        found = self.q.harmful_settings()
        user = self.q.login().user
        return [
            warn(
                name,
                f"{s.name} is {s.value}: reaper sets it back for itself, other connections keep it",
                f"Run: alter role {user} reset {s.name} (or alter database … reset {s.name})",
            )
            for s in found
        ] or [ok(name, "none that hurts")]

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

    def _installation(self) -> list[Diagnosis]:
        """Who this database is; whose the buckets are is asked there, if any is configured here."""
        me = self.q.installation_identity()
        problems = [] if self.backends else self.q.ownership_problems()
        if problems:
            fix = "Run reaper backend list where the backends are configured."
            return [fail("installation", problem, fix) for problem in problems]
        if me.is_recorded_here:
            return [ok("installation", f"{me.installation_id}, recorded in this database")]
        detail = f"recorded as {me.recorded_database} on system {me.recorded_system_identifier}"
        return [
            warn(
                "installation",
                f"{detail}, now {me.database} on system {me.system_identifier}: a copy, or moved",
                "A take-over records it anew: reaper backend take-over NAME --reason …",
            )
        ]

    def _backend(self, backend: BackendState) -> Diagnosis:
        if backend.name in self.backends:
            return fail(
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


def examine_session(dsn: str) -> Iterator[Diagnosis]:
    """Whether a worker could have sessions of its own with this address."""
    if problem := pooler_problem(dsn):
        yield fail(
            "session", f"no worker can run with this address: a pooler stands between, {problem}", HINT
        )
    else:
        yield ok("session", "start-up parameters and session state are kept")


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


def examine_owner(name: str, ownership: Ownership) -> Iterator[Diagnosis]:
    """Whose the bucket is; a bucket without marker gets one with the first deletion or put."""
    label = f"bucket {name}, owner"
    try:
        found = ownership.look(name)
    except ReaperError as error:
        # A store that does not answer has its own line.
        verdict = warn if isinstance(error, Unreachable) else fail
        yield verdict(label, f"unknown: {error.message}", error.hint or "See the checks of the database.")
        return
    if found.state == OTHER:
        take_over = f"reaper backend take-over {name} --reason …"
        fix = f"Nothing is deleted or stored there. If it is this database's: {take_over}"
        yield fail(label, f"not ours: {found.detail}", fix)
    else:
        yield ok(label, found.detail)


def examine_cache(cache: Cache) -> Iterator[Diagnosis]:
    """Whether the cache answers and lets us work; without it drains work, and entries stay until it does."""
    try:
        cache.check()
        yield ok("cache", "answers, and takes SET NX, EVAL and UNLINK")
    except ReaperError as error:
        # As severe as for the verdict: entries of pastes that are gone stay readable meanwhile.
        yield fail("cache", error.message, error.hint or "Check REAPER_REDIS_URL and the Redis server.")


def _guarded(name: str, check: Callable[[], list[Diagnosis]]) -> Iterator[Diagnosis]:
    try:
        yield from check()
    except ReaperError as error:
        yield fail(name, error.message, error.hint)
