"""Where a schedule is run: a thread and a connection for each actor, an observer of who waits for whom."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from tests.support.interleavings.actors import Actor, Connection, Memory
from tests.support.interleavings.recorded_runs import Event, Outcome, Run, Turn

Connect = Callable[[], Connection]
Reset = Callable[[Connection], Mapping[str, Any] | None]
Check = Callable[[Connection], Iterable[object]]
FinalCheck = Callable[[Connection, Run], Iterable[object]]
Chooser = Callable[[Sequence[str]], str]

POLL = 0.001
# A waiter looks for a deadlock once, when deadlock_timeout has passed. Nobody else moves before that, so the
# one who closes a circle is the one who finds it: a schedule always has the same victim.
DEADLOCK_TIMEOUT = "1ms"
SETTLED_AFTER = 0.003
# Nets that a sound exploration never touches.
STATEMENT_TIMEOUT = "10s"
PATIENCE = 30.0

SET = "select set_config(name, value, false) from unnest(%s::text[], %s::text[]) as settings (name, value)"
BLOCKERS = "select pid, pg_blocking_pids(pid) from unnest(%s::int[]) as pid"


class ExplorerError(Exception):
    """The exploration itself went wrong: an order cannot be followed, or a step neither ends nor waits."""


class Session:
    """An actor at work: its connection, its thread, and how far it has come."""

    def __init__(self, name: str, actor: Actor, connect: Connect) -> None:
        if not name.isidentifier() or name[-1].isdigit():
            raise ValueError(
                f"{name!r}: an actor's name is a word without a digit at its end, for steps are numbered"
            )
        self.name, self.actor, self._connect = name, actor, connect
        self.conn = connect()
        self.pid = self.conn.info.backend_pid
        self.future: Future[Outcome] | None = None
        self._position = 0
        self._memory: Memory = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    @property
    def label(self) -> str:
        """Name the step that is under way, or comes next."""
        return f"{self.name}{self._position + 1}"

    @property
    def can_move(self) -> bool:
        """Say whether the next step could begin now."""
        return self.future is None and self._position < len(self.actor.steps)

    @property
    def done(self) -> bool:
        """Say whether a step has ended that is not finished yet."""
        return self.future is not None and self.future.done()

    def clear(self) -> None:
        """Take all that a schedule left out of the connection, or replace it when it was left dead."""
        if self.conn.closed:
            self.conn = self._connect()
            self.pid = self.conn.info.backend_pid
        self.conn.rollback()
        self.conn.autocommit, self.conn.prepare_threshold = True, None
        # As "discard all", but plans are kept: to make them again would take a large part of the time.
        self.conn.execute("reset session authorization; reset all; deallocate all; unlisten *; discard temp")
        self.conn.execute("select pg_advisory_unlock_all()")
        settings = {
            "statement_timeout": STATEMENT_TIMEOUT,
            "default_transaction_isolation": self.actor.isolation,
        }
        if self.conn.info.parameter_status("is_superuser") == "on":
            settings["deadlock_timeout"] = DEADLOCK_TIMEOUT
        # The role comes last, for it may lose the right to the others.
        settings["role"] = self.actor.role
        self.conn.execute(SET, [list(settings), list(settings.values())])

    def rewind(self, memory: Mapping[str, Any]) -> None:
        """Stand before the first step, knowing only what the reset told."""
        self._position, self._memory = 0, dict(memory)

    def start(self) -> None:
        """Let the next step run in this actor's thread."""
        self.future = self._thread.submit(self._perform)

    def event(self, outcome: Outcome | None = None) -> Event:
        """Tell about the current step: that it waits, or how it ended."""
        return Event(self.label, self.actor.steps[self._position].text, outcome)

    def finish(self) -> Event:
        """Take the outcome of the step that is done and stand before the next one."""
        assert self.future is not None
        outcome, self.future = self.future.result(), None
        event = self.event(outcome)
        stops = self.actor.steps[self._position].stop and outcome.sqlstate
        self._position = len(self.actor.steps) if stops else self._position + 1
        return event

    def abandon(self) -> None:
        """Cancel the step that is under way, if any."""
        if self.future is not None and not self.future.done():
            self.conn.cancel_safe()
            wait([self.future], PATIENCE)
        self.future = None

    def close(self) -> None:
        """Leave nothing behind."""
        self.abandon()
        self._thread.shutdown(wait=False)
        self.conn.close()

    def _perform(self) -> Outcome:
        try:
            return Outcome(self.actor.steps[self._position].action(self.conn, self._memory))
        except psycopg.Error as error:
            message = error.diag.message_primary or str(error)
            return Outcome(None, error.sqlstate or type(error).__name__, message)


class ScheduleRunner:
    """Runs one schedule at a time, each from the same start state."""

    def __init__(
        self,
        stack: ExitStack,
        connect: Connect,
        actors: Mapping[str, Actor],
        reset: Reset,
        check: Check,
        at_end: FinalCheck,
    ) -> None:
        self._reset, self._check, self._at_end = reset, check, at_end
        self._observer = stack.enter_context(connect())
        self._observer.autocommit = True
        self._observer.execute(SET, [["statement_timeout"], [STATEMENT_TIMEOUT]])
        self._picture: dict[int, set[int]] = {}
        # Beginnings of schedules after which nothing was wrong: those that several share are checked once.
        self._clean: set[str] = set()
        self._sessions: dict[str, Session] = {}
        for name, actor in actors.items():
            self._sessions[name] = Session(name, actor, connect)
            stack.callback(self._sessions[name].close)

    def run(self, choose: Chooser) -> Run:
        """Let the chooser pick who moves until nobody can."""
        self._set_up()
        run = Run()
        while movable := [name for name, session in self._sessions.items() if session.can_move]:
            turn = Turn(run.schedule, choose(movable), tuple(movable))
            run.turns.append(turn)
            run.events += self._move(self._sessions[turn.chosen])
            self._look(run)
        run.stuck = [session.label for session in self._under_way()]
        run.events[-1].violations += map(str, self._at_end(self._observer, run))
        return run

    def _look(self, run: Run) -> None:
        """Check what the last move left, unless the same moves from the same start have left it before."""
        if (moved := run.schedule) in self._clean:
            return
        violations = [str(wrong) for wrong in self._check(self._observer)]
        run.events[-1].violations += violations
        if not violations:
            self._clean.add(moved)

    def _set_up(self) -> None:
        self._picture = {}
        # Whoever waits goes before the locks that it waits for, and all locks before the reset.
        for session in self._sessions.values():
            session.abandon()
        for session in self._sessions.values():
            session.clear()
        with self._observer.transaction():
            memory = self._reset(self._observer) or {}
        for session in self._sessions.values():
            session.rewind(memory)

    def _move(self, mover: Session) -> list[Event]:
        """Run one step until all is still; tell of it and of those whom it released."""
        mover.start()
        self._settle()
        waits = [] if mover.done else [mover.event()]
        done = [session for session in self._sessions.values() if session.done]
        return waits + [session.finish() for session in sorted(done, key=lambda one: one is not mover)]

    def _under_way(self) -> list[Session]:
        return [session for session in self._sessions.values() if session.future and not session.done]

    def _settle(self) -> None:
        """Wait until each step that is under way has ended, or only an actor's next move can release it."""
        began = time.monotonic()
        picture, since = self._picture, 0.0
        while busy := self._still_under_way():
            now = time.monotonic()
            blockers = self._blockers(busy)
            if blockers != picture:
                picture, since = blockers, now
            still = stands_still(picture, self._pids()) and now - since >= SETTLED_AFTER
            # Whoever ended while we asked may have released others: the picture is old.
            if still and busy == self._under_way():
                break
            if now - began > PATIENCE:
                raise ExplorerError(f"{busy[0].label} neither ended nor waits for an actor: {blockers}")
        self._picture = picture if busy else {}

    def _still_under_way(self) -> list[Session]:
        wait([session.future for session in self._under_way() if session.future], POLL, FIRST_COMPLETED)
        return self._under_way()

    def _pids(self) -> set[int]:
        return {session.pid for session in self._sessions.values()}

    def _blockers(self, busy: list[Session]) -> dict[int, set[int]]:
        cursor = self._observer.cursor(row_factory=tuple_row)
        rows = cursor.execute(BLOCKERS, [[session.pid for session in busy]])
        return {pid: set(blockers) for pid, blockers in rows}


def stands_still(blockers: dict[int, set[int]], actors: set[int]) -> bool:
    """Say whether everybody waits, only for actors, and not in a circle: a deadlock will end by itself."""
    waiting = dict(blockers)
    while free := [pid for pid, by in waiting.items() if by and by <= actors and not by & waiting.keys()]:
        for pid in free:
            del waiting[pid]
    return not waiting
