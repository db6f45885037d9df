"""The application changes its tables while pastes are stored and drained: no live paste loses its content.

Writers and drains are plain SQL clients, as an application and a DBA would run them; each change is made in
the middle of their work. Whatever the change, at the end every live paste has its content, no row stands in
reaper.blocked for what was not its own fault, and while the binding is broken the verdict names it.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import psycopg
import pytest

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate
from tests.support.waiting import PATIENCE

# What a client meets while a table is being exchanged or altered, and tries again.
PASSING = (
    *("RP010", "RP001", "RP004", "42P01", "42703", "42501", "40P01", "40001", "55P03", "23503", "0A000"),
    # Functions and keys that a restore has not made yet, or takes away at this moment (cache lookup failed).
    *("42883", "42P10", "3F000", "XX000"),
)
UNBOUND = "begin; select reaper.unbind(); {}; select reaper.bind(); commit"
# Foreign keys and rights are the application's own to copy; without them nothing is drained (RP010).
SWAP = """
    begin;
    lock table content, pastes in access exclusive mode;
    create table pastes_new (like pastes including all);
    insert into pastes_new select * from pastes;
    alter table pastes rename to pastes_old;
    alter table pastes_old drop constraint pastes_content_hash_fkey;
    alter table pastes_new rename to pastes;
    commit
"""
SWAP_CONTENT = """
    begin;
    lock table content, pastes in access exclusive mode;
    create table content_new (like content including all);
    insert into content_new select * from content;
    alter table pastes drop constraint pastes_content_hash_fkey;
    alter table content rename to content_old;
    alter table content_new rename to content;
    commit
"""
RENAME_BACK = "alter table pastes rename valid_until to expires_at"


@dataclass
class Load:
    """Two writers and two drains on the application's tables."""

    dsn: str
    stop: Event = field(default_factory=Event)
    writers_rest: Event = field(default_factory=Event)
    puts: int = 0
    drops: int = 0
    met: set[str] = field(default_factory=set)

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """The rows of a statement, on a connection of its own."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Work until the block ends."""
        with ThreadPoolExecutor(4) as threads:
            work = [threads.submit(self._write, n) for n in range(2)]
            work += [threads.submit(self._drain, n) for n in range(2)]
            try:
                yield
            finally:
                self.stop.set()
            for future in work:
                future.result()

    def go_on(self) -> None:
        """Come back when puts and drops have been made since."""
        puts, drops = self.puts, self.drops
        deadline = time.monotonic() + PATIENCE
        while self.puts < puts + 20 or self.drops < drops + 5:
            assert time.monotonic() < deadline, (
                f"puts {self.puts - puts}, drops {self.drops - drops}, {self.met}"
            )
            time.sleep(0.01)

    def _write(self, number: int) -> None:
        for n in self._until_stopped():
            if self.writers_rest.is_set():
                time.sleep(0.01)
                continue
            self._attempt(lambda db, n=n: self._put(db, number, n))

    def _put(self, db: psycopg.Connection[object], number: int, n: int) -> None:
        """Every third paste lives and shares content with those that are due; half of the keys are hashes."""
        expires = "null" if n % 3 == 0 else "now() - interval '1 second'"
        content = f"h{n % 50}"
        with db.transaction():
            db.execute(
                "insert into content as c (content_hash, object_key, ref_count) values (%s, %s, 1)"
                " on conflict (content_hash) do update set ref_count = c.ref_count + 1",
                [content, None if n % 2 else f"{content[:2]}/{content}/{number:016x}{n:016x}"],
            )
            # By position of its columns: a renamed one is no matter of the writer's here.
            db.execute(
                f"insert into pastes values (%s, %s, now(), {expires}, 'NOT_EXPIRED', null)",  # type: ignore[arg-type]
                [f"{number}-{n}", content],
            )
        self.puts += 1

    def _drain(self, number: int) -> None:
        for _ in self._until_stopped():
            self._attempt(lambda db: self._batch(db, number))

    def _batch(self, db: psycopg.Connection[object], number: int) -> None:
        claim = db.execute("select batch_id from reaper.claim_expired(20, %s)", [f"w{number}"]).fetchone()
        if claim is None:
            time.sleep(0.005)
            return
        db.execute("select reaper.drop_references(%s)", claim)  # type: ignore[arg-type]
        db.execute("select reaper.finish_batch(%s, '[]')", claim)  # type: ignore[arg-type]
        self.drops += 1

    def _attempt(self, work: Callable[[psycopg.Connection[object]], None]) -> None:
        try:
            with psycopg.connect(self.dsn, autocommit=True) as db:
                work(db)
        except psycopg.Error as error:
            self.met.add(error.sqlstate or "")
            if error.sqlstate not in PASSING:
                raise
            time.sleep(0.005)

    def _until_stopped(self) -> Iterator[int]:
        n = 0
        while not self.stop.is_set():
            yield n
            n += 1

    def verdict(self) -> tuple[str, str]:
        [(verdict, reasons)] = self.sql("select verdict, array_to_string(reasons, '; ') from reaper.health")
        return str(verdict), str(reasons)

    def end_well(self) -> None:
        """What is marked is given back and drained; then nothing live is lost, and no row stands blocked."""
        self.sql("select reaper.return_batch(batch_id) from reaper.batches where state = 'CLAIMED'")
        self.sql("select reaper.reset_strays('0')")
        for _ in range(10):
            self.sql("call reaper.drain()")
        lost = "select from pastes p left join content c using (content_hash) where c.content_hash is null"
        assert self.sql(lost) == []
        assert self.sql("select * from reaper.blocked") == []
        assert self.sql("select reaper.count_due()") == [(0,)]
        assert self.verdict()[0] == "ok"


@pytest.fixture
def load(dsn: str) -> Load:
    return Load(dsn)


def altered(load: Load) -> None:
    load.sql(UNBOUND.format("alter table pastes alter expires_at type timestamptz(3)"))
    load.sql(UNBOUND.format('alter table content alter object_key type varchar(300) collate "C"'))


def refused_without_unbind(load: Load) -> None:
    """PostgreSQL locks the table, then the views that depend on it; claims must do so in the same order."""
    for change in ["alter expires_at type timestamptz(3)", "drop column deletion_initiated_at"] * 10:
        with pytest.raises((psycopg.errors.FeatureNotSupported, psycopg.errors.DependentObjectsStillExist)):
            load.sql(f"alter table pastes {change}")


def dropped(load: Load) -> None:
    """The bound column gives way to a new one in the same place, so that writers need not know of it."""
    for gone, new in (("deletion_initiated_at", "begun_at"), ("begun_at", "deletion_initiated_at")):
        load.sql(f"""begin; select reaper.unbind();
                     alter table pastes drop column {gone};
                     alter table pastes add column {new} timestamptz;
                     select reaper.bind('{{"pastes": {{"deletion_initiated_at": "{new}"}}}}'); commit""")
        load.go_on()


def renamed(load: Load) -> None:
    load.sql("alter table pastes rename expires_at to valid_until")
    load.go_on()
    load.sql("""select reaper.bind('{"pastes": {"expires_at": "valid_until"}}')""")
    load.go_on()
    load.sql(f"""begin; select reaper.unbind(); {RENAME_BACK};
                 select reaper.bind('{{"pastes": {{"expires_at": "expires_at"}}}}'); commit""")


def swapped(load: Load) -> None:
    swap(load, SWAP, "public.pastes")


def content_swapped(load: Load) -> None:
    swap(load, SWAP_CONTENT, "public.content")


def swap(load: Load, statements: str, table: str) -> None:
    """Nothing is drained until the new table is bound, which reaper migrate does."""
    load.sql(statements)
    verdict, reasons = load.verdict()
    assert verdict == "attention"
    assert f"another table is called {table} now" in reasons
    drops = load.drops
    time.sleep(0.1)
    assert load.drops <= drops + 2, "a drop that had locked the table before the swap may end after it"
    migrate(load.dsn)


def revoked(load: Load) -> None:
    load.sql("revoke delete on pastes from reaper_owner")
    verdict, reasons = load.verdict()
    assert verdict == "attention"
    assert "grant select, insert, update, delete on public.pastes to reaper_owner" in reasons
    time.sleep(0.1)
    load.sql("grant delete on pastes to reaper_owner")


CHANGES = [altered, refused_without_unbind, dropped, renamed, swapped, content_swapped, revoked]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__ for change in CHANGES])
def test_a_change_of_the_tables_under_load_costs_no_live_paste_its_content(
    load: Load, change: Callable[[Load], None]
) -> None:
    with load.running():
        load.go_on()
        change(load)
        load.go_on()
    load.end_well()


@pytest.mark.slow
def test_a_restore_over_the_running_database_costs_no_live_paste_its_content(
    load: Load, server: Postgres, tmp_path: Path
) -> None:
    """pg_restore --clean makes everything anew, data before keys: what is half there is not drained."""

    def run(program: str, *words: str) -> None:
        command = [str(server.bin_dir / program), *words]
        for _ in range(3):
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            # The restore knows no order of locks: what it meets in a drain it may lose, and is run again.
            if "deadlock detected" not in done.stderr:
                break
        assert done.returncode == 0, done.stderr

    dump = str(tmp_path / "dump")
    with load.running():
        load.go_on()
        run("pg_dump", "-Fc", "-d", load.dsn, "-f", dump)
        load.go_on()
        # An application does not write into tables that are being restored; drains do not know of it.
        load.writers_rest.set()
        run("pg_restore", "--clean", "--if-exists", "--exit-on-error", "-d", load.dsn, dump)
        load.writers_rest.clear()
        load.go_on()
    load.end_well()
