"""`reaper status`."""

import sys

from tests.cli.conftest import Run
from tests.support import terminal
from tests.support.paste_fixtures import Clock, Connection, Pastes, Worker


def test_an_idle_system_is_ok_with_exit_code_0(bare_run: Run, dsn: str) -> None:
    done = bare_run("status", REAPER_DATABASE_URL=dsn)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("● ok")
    assert "nothing is due" in done.out


def test_status_needs_nothing_but_the_database_and_the_role_of_a_worker(
    bare_run: Run, worker_dsn: str
) -> None:
    assert bare_run("status", "--database-url", worker_dsn).code == 0


def test_a_late_backlog_is_behind_with_the_reason_and_exit_code_1(
    bare_run: Run, dsn: str, paste: Pastes, me: Worker
) -> None:
    paste("a")
    me.drain()
    paste("late", expires="-30 hours")
    done = bare_run("status", REAPER_DATABASE_URL=dsn)
    assert done.code == 1
    assert done.out.startswith("● behind")
    assert "the oldest row that waits expired 1 d 6 h ago" in done.out
    assert "1 due row, the oldest expired 1 d 6 h ago" in done.out


def test_nobody_at_work_on_a_late_backlog_is_stalled_with_exit_code_3(
    bare_run: Run, dsn: str, paste: Pastes
) -> None:
    paste("late", expires="-30 hours")
    done = bare_run("status", "--json", REAPER_DATABASE_URL=dsn)
    assert done.code == 3
    assert done.json["verdict"] == "stalled"
    assert any("no worker is alive" in reason for reason in done.json["reasons"])


def test_status_names_batches_workers_queues_and_what_to_look_at(
    bare_run: Run, dsn: str, paste: Pastes, me: Worker, clock: Clock
) -> None:
    clock.stop()
    paste.many("p", 3)
    me.heartbeat()
    me.finish(me_drop(me), None)
    me.claim(1)
    me.drop(me.claim(1))
    clock.advance("2 minutes")
    out = bare_run("status", REAPER_DATABASE_URL=dsn).out
    assert "1 claimed (oldest 2 min), 1 released (oldest 2 min)" in out
    assert "2 batches stuck: see reaper.stuck" in out
    assert "worker-1: silent, beat 2 min ago, holds 2 batches" in out
    assert "1 object, retried every minute" in out
    assert "1 invalidation, waiting for Redis" in out


def me_drop(me: Worker) -> object:
    batch = me.claim(1)
    me.drop(batch)
    return batch


def test_json_has_every_figure_of_the_view_and_the_rest_beside_it(
    bare_run: Run, dsn: str, db: Connection, paste: Pastes, me: Worker
) -> None:
    paste("a")
    me.heartbeat()
    me.drain()
    shown = bare_run("status", "--json", REAPER_DATABASE_URL=dsn).json
    columns = {c.name for c in db.execute("select * from reaper.health").description or ()}
    assert columns <= shown.keys()
    assert shown["speed"]["rows_deleted"] == 1
    assert [w["worker"] for w in shown["workers"]] == ["worker-1"]


def test_a_person_sees_colours_and_a_pipe_gets_none(dsn: str, bare_run: Run) -> None:
    variables = {"REAPER_DATABASE_URL": dsn}
    assert "\x1b[1;32m" in terminal.shown([sys.executable, "-m", "reaper", "status"], variables=variables)
    assert "\x1b" not in bare_run("status", **variables).out


def test_status_shows_what_lies_on_each_backend_and_whose_circuit_is_open(
    bare_run: Run, dsn: str, db: Connection
) -> None:
    db.execute("select reaper.register_backend('cold', 5000)")
    db.execute("select reaper.commit_put(intent_id, true) from reaper.begin_put('a', 'h', 1500, null)")
    for _ in range(5):
        db.execute("select reaper.record_backend_failure('default', 'no connection')")
    out = bare_run("status", REAPER_DATABASE_URL=dsn).out
    assert "cold: 0 bytes of 5 kB" in out
    assert "default: 1.5 kB" in out
    assert "circuit open: no connection" in out
    machine = bare_run("status", "--json", REAPER_DATABASE_URL=dsn).json
    assert [b["circuit"] for b in machine["backends"]] == ["closed", "open"]
