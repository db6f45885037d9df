"""What can go wrong, and the exit code that the command line gives it.

ReaperError                    4
├── ConfigError                4   a setting is missing or wrong
├── Unreachable                5   no server answers, or it refuses the login
│   ├── CircuitOpen            5   a backend is not asked: its circuit is open
│   └── UploadFailed           5   a backend did not take the bytes of a paste
├── DatabaseError              4   the server refused a statement; carries its SQLSTATE
│   ├── ClaimLost          RP001   the batch is no longer held: skip it
│   ├── BytesNeeded        RP002   the content is gone: upload, commit again
│   ├── IntentGone         RP003   begin again
│   ├── KeyRetired         RP004   this key's deletion is pending
│   ├── BadArgument        RP005   the hint says what is allowed
│   ├── WrongIsolation     RP006   use read committed
│   ├── WouldLoseInformation RP007 a rollback would lose information
│   ├── NoRoom             RP008   no backend has room for the bytes
│   ├── KeyIsExpression    RP009   the binding cannot create content: the application must
│   ├── BindingBroken      RP010   the bound tables are not those that the views read, or their keys are wrong
│   ├── ServicePaused      RP011   exit code 1: the service is paused; --despite-pause runs it all the same
│   └── CodeTaken          23505   another paste has the short code
├── ForeignBucket              4   the bucket belongs to another installation: nothing is changed there
├── ContentLost                4   no whole copy of a live paste's bytes is left
├── UploadAborted              4   the parts of an upload were deleted meanwhile: begin again
├── NotSupported               4   a store does not know a request
├── ServiceLockLost            4   a service's lease was lost: the run is over
├── DeliveryHeld               4   no event may be sent to a webhook from here
├── WorkerLost                 3   a worker ended without a request to stop
└── MigrationError             4
    ├── BadMigration           4   a file of the release is not as it must be
    ├── MigrationRefused       4   nothing was changed; the message has the fix
    ├── TableBusy              4   other sessions held a lock for too long
    ├── LockLost               4   the migration lock's connection broke
    └── SchemaTooOld           4   `reaper migrate` first
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command; scripts rely on them."""

    OK = 0
    BEHIND = 1
    USAGE = 2
    STALLED = 3
    REFUSED = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


class ReaperError(Exception):
    """An error whose message tells a person what happened, and whose hint tells what to do."""

    exit_code: Exit = Exit.REFUSED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(ReaperError):
    """A setting is missing or wrong; all of them are listed."""


class Unreachable(ReaperError):
    """A server does not answer, or refuses the login."""

    exit_code = Exit.UNREACHABLE


class CircuitOpen(Unreachable):
    """The circuit of the backend is open: it did not answer earlier requests, so it was not asked."""


class UploadFailed(Unreachable):
    """A backend did not store the bytes; another backend may."""


class UploadAborted(ReaperError):
    """The upload in parts was aborted before it was complete; a new one can be begun."""


class DatabaseError(ReaperError):
    """The server refused a statement."""

    sqlstate: str | None = None

    def __init__(self, message: str, hint: str | None = None, sqlstate: str | None = None) -> None:
        super().__init__(message, hint)
        self.sqlstate = sqlstate or self.sqlstate


class ClaimLost(DatabaseError):
    """The batch is no longer held by this worker."""

    sqlstate = "RP001"


class BytesNeeded(DatabaseError):
    """The content is gone, so the bytes must be uploaded."""

    sqlstate = "RP002"


class IntentGone(DatabaseError):
    """The put intent no longer exists."""

    sqlstate = "RP003"


class KeyRetired(DatabaseError):
    """The deletion of this object key is pending."""

    sqlstate = "RP004"


class BadArgument(DatabaseError):
    """A function was called with an invalid argument."""

    sqlstate = "RP005"


class WrongIsolation(DatabaseError):
    """The transaction is not READ COMMITTED."""

    sqlstate = "RP006"


class WouldLoseInformation(DatabaseError):
    """A rollback would delete information that is recorded nowhere else."""

    sqlstate = "RP007"


class NoRoom(DatabaseError):
    """No active backend has room for the bytes."""

    sqlstate = "RP008"


class KeyIsExpression(DatabaseError):
    """The object key is bound to an expression, so only the application can create content."""

    sqlstate = "RP009"


class BindingBroken(DatabaseError):
    """The views do not read the bound tables any more, or objects do not lie where the binding says."""

    sqlstate = "RP010"


class ServicePaused(DatabaseError):
    """An operator paused the service; --despite-pause runs it all the same."""

    exit_code = Exit.BEHIND
    sqlstate = "RP011"


class CodeTaken(DatabaseError):
    """Another paste has the short code; nothing else of ours is unique and named by a caller."""

    sqlstate = "23505"


class ForeignBucket(ReaperError):
    """The marker in the bucket does not name this installation; an operator decides whose it is."""


class ContentLost(ReaperError):
    """A live paste has no intact copy of its bytes on any backend."""


class NotSupported(ReaperError):
    """A store does not know a request; what needs it is not done there."""


class ServiceLockLost(ReaperError):
    """Another worker may be running the service now."""


class DeliveryHeld(ReaperError):
    """A webhook's secret is missing here, or its address is refused; that counts as no attempt."""


class WorkerLost(ReaperError):
    """The worker ended by itself; its supervisor should start it again."""

    exit_code = Exit.STALLED


class MigrationError(ReaperError):
    """The schema could not be migrated."""


class BadMigration(MigrationError):
    """A file of this release breaks the rules of its folder."""


class MigrationRefused(MigrationError):
    """The migration would be unsafe here."""


class TableBusy(MigrationError):
    """Other sessions kept a lock that a step needs."""


class LockLost(MigrationError):
    """The connection that holds the migration lock broke, so another migrator may be running."""


class SchemaTooOld(MigrationError):
    """The database lacks migrations that this release needs."""


_BY_SQLSTATE: dict[str, type[DatabaseError]] = {
    cls.sqlstate: cls
    for cls in (
        ClaimLost,
        BytesNeeded,
        IntentGone,
        KeyRetired,
        BadArgument,
        WrongIsolation,
        WouldLoseInformation,
        NoRoom,
        KeyIsExpression,
        BindingBroken,
        ServicePaused,
        CodeTaken,
    )
    if cls.sqlstate
}


def by_sqlstate(sqlstate: str | None) -> type[DatabaseError]:
    """The exception that stands for a SQLSTATE; DatabaseError for those that are not ours."""
    return _BY_SQLSTATE.get(sqlstate or "", DatabaseError)


def describe(error: BaseException) -> str:
    """The message and the hint of an error as one text, for records and log lines."""
    if isinstance(error, ReaperError):
        return f"{error.message}. {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"
