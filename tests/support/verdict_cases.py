"""The truth table of the verdict: what is wrong, what the verdict is, and words of the reasons."""

from collections.abc import Callable
from dataclasses import dataclass

from reaper.services import ALL
from tests.support.paste_fixtures import Clock, Connection, Pastes, Worker, owe, value

NIGHTLY, HOURLY, CONTINUOUS = "1 day", "1 hour", "5 seconds"


class Scene:
    """A system with one living worker on which every service is planned; the clock stands, and is moved."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.paste = Pastes(db)
        self.me = Worker(db)
        self.clock = Clock(db)
        self.clock.stop()
        for service in ALL:
            enabled = service.enabled
            self.sql(
                "select reaper.register_service(%s, %s, 'x', %s)", service.name, service.schedule, enabled
            )
        self.plan()
        self.beat()

    def sql(self, statement: str, *arguments: object) -> None:
        self.db.execute(statement, arguments)

    def beat(self, degraded: str | None = None) -> None:
        """The worker lives."""
        self.sql("select reaper.heartbeat('worker-1', p_degraded => %s)", degraded)

    def plan(self) -> None:
        """Every service but the drain ran just now, and is planned for the next minute."""
        self.sql("update reaper.services set next_run_at = reaper.clock() + '1 minute', waiting_since = null")
        self.sql("update reaper.services set next_run_at = reaper.clock() + '5 hours' where name = 'drain'")

    def start(self, name: str = "drain", every: str = NIGHTLY) -> None:
        """A scheduled start: the jobs are queued, the next one is planned."""
        self.sql("update reaper.services set next_run_at = reaper.clock() where name = %s", name)
        self.sql(
            "select reaper.enqueue_run(name, next_run_at, next_run_at + %s::interval)"
            "  from reaper.services where name = %s",
            every,
            name,
        )

    def run(self, name: str = "drain", error: str | None = None) -> None:
        """A run begins and ends."""
        self.sql("select reaper.begin_run(%s, 'worker-1')", name)
        self.sql("select reaper.finish_run(%s, null, %s)", name, error)

    def later(self, interval: str) -> None:
        """Time passes, while the worker lives and all other services keep their schedule."""
        drain = "select next_run_at, waiting_since from reaper.services where name = 'drain'"
        before = self.db.execute(drain).fetchone() or (None, None)
        self.clock.advance(interval)
        self.plan()
        self.sql(
            "update reaper.services set next_run_at = %s, waiting_since = %s where name = 'drain'", *before
        )
        self.beat()

    def alone(self, interval: str) -> None:
        """Time passes, and the worker is dead."""
        self.clock.advance(interval)

    def job(self, lock: str, status: str, age: str) -> None:
        """A job of ours in the queue, in this state for so long."""
        self.sql("select reaper.enqueue_job('reaper:service', %s, '{}')", lock)
        self.sql("set search_path = public, procrastinate")
        self.sql(
            "update procrastinate.procrastinate_jobs set status = %s::procrastinate.procrastinate_job_status"
            " where queueing_lock = %s",
            status,
            lock,
        )
        self.sql("update procrastinate.procrastinate_events set at = at - %s::interval", age)
        self.sql("reset search_path")


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    title: str
    arrange: Callable[[Scene], object]
    verdict: str
    # Each occurs in a sentence of its own, in this order.
    words: tuple[tuple[str, ...], ...] = ()


def _paused(s: Scene) -> None:
    s.sql("select reaper.pause('drain', '2 hours', 'index build')")


def _paused_and_overdue(s: Scene) -> None:
    s.paste("a", expires="-1 hour")
    s.sql("select reaper.pause('drain', '20 hours', 'index build')")
    s.later("10 hours")


def _dead_letters(s: Scene) -> None:
    s.sql(
        "insert into reaper.cleanup_dlq (queue_id, backend, object_key, attempts, last_error, queued_at,"
        " buried_at) select i, 'default', 'k' || i, 10, 'SlowDown', now(), now()"
        "  from generate_series(1, 100000) as i"
    )


def _open_circuit(s: Scene) -> None:
    for _ in range(5):
        s.sql("select reaper.record_backend_failure('default', 'no connection')")


def _failing(s: Scene) -> None:
    for _ in range(3):
        s.run("prune", "disk full")


def _lock_held_elsewhere(s: Scene) -> None:
    s.sql("select pg_advisory_lock(1919246704, reaper.service_lock_key('watchdog'))")
    s.later("15 seconds")
    for _ in range(45):
        s.start("watchdog", "15 seconds")
        s.clock.advance("15 seconds")
    s.beat()
    since = "select waiting_since from reaper.services where name = 'watchdog'"
    waiting = value(s.db, since)
    s.later("1 second")
    s.sql("update reaper.services set waiting_since = %s where name = 'watchdog'", waiting)


def _blocked(s: Scene) -> None:
    s.sql("create table comments (code text references pastes); ")
    s.paste("poison")
    s.sql("insert into comments values ('poison')")
    s.me.drain()


def _late(every: str, rest: str, times: int = 0, step: str = "0") -> Callable[[Scene], None]:
    """A row is due at the first of some starts and still there after the last; runs end well."""

    def arrange(s: Scene) -> None:
        s.paste("late", expires="-1 second")
        for _ in range(times):
            s.start(every=every)
            s.run()
            s.later(step)
        s.start(every=every)
        s.run()
        s.later(rest)
        s.paste("moves", content="other", expires="-1 day")
        batch = s.me.claim(1)
        s.me.drop(batch)
        s.me.finish(batch)

    return arrange


def _stuck(s: Scene) -> None:
    s.paste("a")
    s.sql("select reaper.heartbeat('dead')")
    Worker(s.db, "dead").claim()
    s.later("11 minutes")


def _standing(s: Scene) -> None:
    s.paste("a")
    s.start()
    s.later("11 minutes")


def _swapped(s: Scene) -> None:
    s.sql("alter table pastes rename to pastes_old")
    s.sql("create table pastes (like pastes_old including all)")


def _foreign(s: Scene) -> None:
    s.sql(
        "select reaper.record_backend_owner('default', installation_id, 'other', 'it belongs to production')"
        "  from reaper.installation_identity()"
    )


CASES = (
    Case("idle and well", lambda _: None, "ok"),
    Case(
        "paused",
        _paused,
        "paused",
        (
            (
                "drain is paused until 20",
                " by postgres: index build",
                "nothing is due",
                "reaper service resume drain",
            ),
        ),
    ),
    Case(
        "paused and overdue",
        _paused_and_overdue,
        "paused",
        (("drain is paused until 20", "1 row waits, the oldest expired 11 h ago", "resume drain"),),
    ),
    Case(
        "one dead letter",
        lambda s: owe(s.db, "k", "cleanup_dlq", last_error="AccessDenied"),
        "attention",
        (("1 object could not be deleted", "AccessDenied", "reaper dlq list", "reaper dlq retry --all"),),
    ),
    Case(
        "100,000 dead letters",
        _dead_letters,
        "attention",
        (("at least 100,000 objects could not be deleted", "SlowDown", "reaper dlq retry"),),
    ),
    Case(
        "a circuit open",
        _open_circuit,
        "attention",
        (("backend default does not answer", "no connection", "reaper doctor"),),
    ),
    Case(
        "Redis away",
        lambda s: s.beat('{"redis": "cache:6379: no connection"}'),
        "attention",
        (("Redis does not answer worker worker-1", "no connection", "reaper doctor"),),
    ),
    Case(
        "no worker for a minute",
        lambda s: s.alone("122 seconds"),
        "stalled",
        (("no worker is alive, and 14 services are due", "reaper worker"),),
    ),
    Case(
        "no worker for an hour",
        lambda s: s.alone("1 hour"),
        "stalled",
        (("no worker is alive, and 14 services are due", "for 59 min", "reaper worker"),),
    ),
    Case(
        "a service failing three times",
        _failing,
        "attention",
        (("service prune failed 3 times in a row", "disk full", "reaper service run prune --here"),),
    ),
    Case(
        "a service overdue, its lock held elsewhere",
        _lock_held_elsewhere,
        "attention",
        (("service watchdog is overdue", "11 min 16 s ago", "holds its lock", "pg_terminate_backend("),),
    ),
    Case(
        "a job that runs on no living worker",
        lambda s: s.job("service:prune", "doing", "10 minutes"),
        "attention",
        (("1 job runs on no living worker", "service:prune", "reaper jobs rescue"),),
    ),
    Case(
        "a job that no worker takes",
        lambda s: s.job("service:prune", "todo", "11 minutes"),
        "attention",
        (("1 job waits for over 10 minutes", "service:prune", "reaper jobs list"),),
    ),
    Case(
        "blocked rows",
        _blocked,
        "attention",
        (("refuses to delete 1 row (poison: 23503", "comments", "select reaper.unblock()"),),
    ),
    Case(
        "behind a nightly drain",
        _late(NIGHTLY, "121 minutes"),
        "behind",
        (("the drain is behind", "the oldest expired 2 h 1 min ago", "drain_slots = 4"),),
    ),
    Case(
        "behind an hourly drain",
        _late(HOURLY, "1 minute", 2, "1 hour"),
        "behind",
        (("the drain is behind", "the oldest expired 2 h 1 min ago", "drain_slots = 4"),),
    ),
    Case(
        "behind a continuous drain",
        _late(CONTINUOUS, "1 minute", 12, "10 minutes"),
        "behind",
        (("the drain is behind", "the oldest expired 2 h 1 min ago", "drain_slots = 4"),),
    ),
    Case(
        "a stuck batch",
        _stuck,
        "stalled",
        (("1 batch is stuck, the oldest for 11 min", "reaper watchdog --once"),),
    ),
    Case(
        "a run that stands still",
        _standing,
        "stalled",
        (
            ("the drain stands still", "no batch ever finished", "reaper jobs list"),
            ("service drain is overdue",),
        ),
    ),
    Case(
        "the clock moved",
        lambda s: s.sql("update reaper.settings set clock_may_move = true"),
        "attention",
        (("clock() can be moved", "update reaper.settings set clock_may_move = false"),),
    ),
    Case(
        "the binding broken",
        _swapped,
        "attention",
        (("still reads public.pastes_old", "run reaper migrate"),),
    ),
    Case(
        "a foreign bucket",
        _foreign,
        "attention",
        (("backend default is not ours", "it belongs to production", "reaper backend take-over default"),),
    ),
)
