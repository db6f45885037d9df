"""One step of a migration: what it does, what it locks, and its SQL; it can be run or printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

LOCK_TIMEOUT = "100ms"


class Kind(StrEnum):
    """What a step is for."""

    CREATE_ROLES = "create_roles"
    GRANT_OWNER = "grant_owner"
    CREATE_LEDGER = "create_ledger"
    CLEAR_LOCK_ROW = "clear_lock_row"
    APPLY_PROCRASTINATE = "apply_procrastinate"
    GRANT_QUEUE = "grant_queue"
    RECORD_QUEUE = "record_queue"
    DROP_CODE = "drop_code"
    ROLL_BACK = "roll_back"
    DROP_UNFINISHED_INDEX = "drop_unfinished_index"
    APPLY = "apply"
    RECORD_BINDING = "record_binding"
    PREPARE_TABLE = "prepare_table"
    RELEASE_TABLE = "release_table"
    LOAD_CODE = "load_code"
    CREATE_VIEWS = "create_views"
    GIVE_TO_OWNER = "give_to_owner"
    REGISTER_SERVICES = "register_services"


@dataclass(frozen=True)
class Statement:
    """Some SQL, and the file below sql/ that it comes from, where it comes from one."""

    text: str
    file: str | None = None


@dataclass(frozen=True)
class Step:
    """What is done together, and what is written into the ledger about it.

    A transactional step is one transaction, its record included; another one runs statement by statement, and
    its record follows. `skip_if` is a query; where it returns true, only the record is written.
    """

    kind: Kind
    title: str
    locks: str
    statements: tuple[Statement, ...] = field(repr=False)
    record: tuple[Statement, ...] = field(default=(), repr=False)
    # What it is about, for reports: the id of a migration, names of roles, paths of files that are loaded …
    names: tuple[str, ...] = ()
    # … and of files whose objects are dropped.
    dropped: tuple[str, ...] = ()
    transactional: bool = True
    skip_if: str | None = None
    # Whether the first statement only looks whether something would be lost, and raises RP007 then.
    guarded: bool = False
    lock_timeout: str = LOCK_TIMEOUT
    role: str | None = None
    search_path: str | None = None
    # Whether it may be tried again after it failed half-way for want of a lock.
    repeatable: bool = True

    @property
    def name(self) -> str:
        """What error messages call it."""
        single = self.kind in (Kind.APPLY, Kind.APPLY_PROCRASTINATE, Kind.ROLL_BACK)
        return self.names[0] if single else self.title

    @property
    def settings(self) -> tuple[Statement, ...]:
        """What is set before the statements."""
        scope = "set local" if self.transactional else "set"
        values = {
            "lock_timeout": f"'{self.lock_timeout}'",
            "role": self.role,
            "search_path": self.search_path,
        }
        return tuple(Statement(f"{scope} {name} = {value}") for name, value in values.items() if value)

    def as_dict(self) -> dict[str, object]:
        """The step for machines."""
        return {
            "kind": self.kind.value,
            "title": self.title,
            "locks": self.locks,
            "transactional": self.transactional,
            "names": list(self.names),
            "dropped": list(self.dropped),
        }


def statements(*texts: str) -> tuple[Statement, ...]:
    """Statements that come from no file of their own."""
    return tuple(Statement(text) for text in texts)
