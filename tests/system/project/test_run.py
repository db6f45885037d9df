"""run.py: the set-up is made once, whole, by one process at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

import run

ROOT = Path(run.__file__).parent


class Recorder:
    """An installer that notes what it is asked for, and can fail in the middle as a killed one would."""

    def __init__(self, environment, fails=False):
        self.environment = environment
        self.fails = fails
        self.installed = 0

    def make_venv(self):
        programs = self.environment.venv / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        if not (programs / "python").exists():
            (programs / "python").symlink_to(sys.executable)

    def install(self):
        if self.fails:
            raise KeyboardInterrupt
        self.installed += 1


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "requirements.lock").write_text("some-package==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return run.Environment(tmp_path)


@pytest.fixture
def installer(environment, monkeypatch):
    recorder = Recorder(environment)
    monkeypatch.setattr(environment, "uv", lambda: recorder)
    return recorder


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13)])
def test_an_old_python_is_refused_in_one_line(version):
    with pytest.raises(SystemExit, match=r"^reaper needs Python 3\.11 or newer; this is 3\.\d+\.\d+\..*$"):
        run.refuse_old_python(version)


def test_this_python_is_not_refused():
    run.refuse_old_python(sys.version_info)


def test_the_second_set_up_does_nothing(environment, installer):
    environment.set_up()
    environment.set_up()
    assert installer.installed == 1


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_changed_file_makes_the_set_up_run_again(environment, installer, name):
    environment.set_up()
    with (environment.root / name).open("a") as file:
        file.write("# changed\n")
    environment.set_up()
    assert installer.installed == 2


def test_another_python_makes_the_set_up_run_again_from_nothing(environment, installer, monkeypatch):
    environment.set_up()
    (environment.venv / "of the other").touch()
    monkeypatch.setattr(sys, "version", "3.99.0 (another one)")
    environment.set_up()
    assert installer.installed == 2
    assert not (environment.venv / "of the other").exists()


def test_an_interrupted_set_up_is_made_again_from_nothing(environment, installer):
    installer.fails = True
    with pytest.raises(KeyboardInterrupt):
        environment.set_up()
    (environment.venv / "half a package").touch()
    installer.fails = False
    environment.set_up()
    assert installer.installed == 1
    assert not (environment.venv / "half a package").exists()
    assert environment.is_current()


def test_pip_takes_over_where_uv_fails(environment, installer, monkeypatch):
    pip = Recorder(environment)

    def refuse():
        raise subprocess.CalledProcessError(2, "uv")

    monkeypatch.setattr(installer, "install", refuse)
    monkeypatch.setattr(run, "Pip", lambda _environment: pip)
    environment.set_up()
    assert pip.installed == 1
    assert environment.is_current()


WAITER = """
import pathlib, sys, run
environment = run.Environment(pathlib.Path(sys.argv[1]))
environment.build = lambda: sys.exit("set up twice")
environment.set_up()
"""


def test_who_waited_for_another_set_up_finds_it_made(environment, installer, monkeypatch):
    build = environment.build
    waiting = []

    def build_while_another_waits():
        command = [sys.executable, "-c", WAITER, environment.root]
        waiting.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))
        assert "another run.py is setting up" in waiting[0].stderr.readline()
        build()

    monkeypatch.setattr(environment, "build", build_while_another_waits)
    environment.set_up()
    assert waiting[0].communicate()[1] == ""
    assert waiting[0].returncode == 0
    assert installer.installed == 1


def test_uv_is_pinned_by_the_lock():
    pin = run.pin_of("uv", (ROOT / "requirements.lock").read_text())
    assert pin.startswith("uv==")
    assert pin.count("--hash=sha256:") > 1
    assert pin.splitlines()[-1].startswith("    --hash=sha256:")


def test_a_home_that_cannot_be_written_holds_no_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run.home_has_room_for_a_cache()
    (tmp_path / ".cache").touch()
    assert not run.home_has_room_for_a_cache()


def test_without_a_command_the_commands_are_listed():
    result = subprocess.run([sys.executable, ROOT / "run.py"], capture_output=True, text=True)
    assert result.returncode == 2
    assert all(f"\n    {command} " in result.stdout for command in ("demo", "test", "check", "setup"))


def test_run_py_needs_nothing_but_the_standard_library():
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import run"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)


def test_a_failed_check_is_told_and_counts(capfd):
    assert not run.passes("lint", [sys.executable, "-c", "print('line 3 is wrong'); exit(1)"])
    assert run.passes("types", [sys.executable, "-c", "print('not shown')"])
    assert capfd.readouterr().out.split("\n")[:2] == ["lint           failed", "line 3 is wrong"]
