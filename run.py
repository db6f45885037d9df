#!/usr/bin/env python3
"""Sets reaper up in .venv and runs it: python3 run.py demo | test | check | example | … | <command>

    demo     starts PostgreSQL, Valkey and S3 of its own, and expires pastes in them
    test     runs the tests, three processes per core; further words go to pytest, for example -n 0
             --slow: those left out because others show nearly the same sooner; --long: sizes as promised
    torture  runs the long fault tests, --minutes 30 in all, and prints a scorecard; --seed repeats a run
    check    format, lint, types, import layers, SQL lint
    example  a paste service on port 8000, with servers and a worker of its own; --port, --address
    docs     builds the site of docs/ in site/, strictly: a broken link ends it
    setup    builds .venv and stops; the command is then .venv/bin/reaper
    else     any command of reaper, for example: python3 run.py status --json

Needs Python 3.11 or newer and nothing else. The first run installs what requirements.lock names, the next
ones start at once.
"""
# Old interpreters must be able to read this file far enough to be told that they are too old.

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
NEEDED = (3, 11)
TOO_OLD = (
    "reaper needs Python {}.{} or newer; this is {}. Try python3.11, python3.12 or python3.13 run.py ..."
)
# Three processes per core, each with servers of its own: half of the time a test waits. A later -n replaces
# this one; auto yields to --pdb.
SIDE_BY_SIDE = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
# Later words replace these. Named here, the plugin is known before pytest takes the page for a place with
# tests in it.
ORDEALS = ["-p", "tests.support.ordeals", "-m", "ordeal", "--minutes", "30", "-q"]
DOCS = ["mkdocs", "build", "--strict", "--quiet"]
OFFLINE = """
run.py: the set-up did not succeed. What failed is written above; if it could not reach the package index,
set PIP_INDEX_URL to one that this machine can reach. The next run starts the set-up again."""


def main(words):
    """Set up if needed, then become the command."""
    refuse_old_python(sys.version_info)
    if not words or words[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0 if words else 2
    if not home_has_room_for_a_cache():
        os.environ.setdefault("UV_CACHE_DIR", str(ROOT / ".boot/cache"))
    try:
        Environment(ROOT).set_up()
    except subprocess.CalledProcessError:
        print(OFFLINE, file=sys.stderr)
        return 1
    return run(words[0], words[1:])


def refuse_old_python(version):
    """Say what is missing in one line instead of a traceback."""
    if tuple(version[:2]) < NEEDED:
        sys.exit(TOO_OLD.format(*NEEDED, ".".join(map(str, version[:3]))))


def run(command, words):
    """Hand over to the command; it takes this process's place, so that signals reach it."""
    programs = ROOT / ".venv/bin"
    if command == "setup":
        print("run.py: ready; the command is " + str(programs / "reaper"))
        return 0
    if command == "check":
        return check(programs)
    if command == "example":
        os.chdir(str(ROOT))
        return become([str(programs / "python"), "-m", "examples.pastebin"] + words)
    if command == "docs":
        os.chdir(str(ROOT))
        os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
        return become([str(programs / DOCS[0])] + DOCS[1:] + words)
    if command in ("test", "torture"):
        os.chdir(str(ROOT))
        os.environ.setdefault("PYTEST_XDIST_AUTO_NUM_WORKERS", str(3 * (os.cpu_count() or 1)))
        chosen = ORDEALS if command == "torture" else []
        return become([str(programs / "python"), "-m", "pytest"] + SIDE_BY_SIDE + chosen + words)
    return become([str(programs / "reaper"), command] + words)


def become(command):
    """Replace this process by another."""
    # Compiled modules are kept, in the environment and not in the tree: demo and tests start many processes.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".venv/pycache"))
    sys.stdout.flush()
    os.execv(command[0], command)


class Environment:
    """The virtual environment of a checkout, and the stamp that says what it was built from."""

    def __init__(self, root):
        self.root = root
        self.venv = root / ".venv"
        self.boot = root / ".boot"
        self.lock = root / "requirements.lock"
        self.stamp = self.venv / ".stamp"
        # Stands there while packages are being installed: found at the start, it tells of an interruption.
        self.unfinished = self.venv / ".unfinished"

    def set_up(self):
        """Build or update .venv, unless it is what it should be."""
        if self.is_current():
            return
        self.boot.mkdir(exist_ok=True)
        with only_one(self.boot / "lock"):
            if not self.is_current():
                self.build()

    def is_current(self):
        """Whether .venv was built from these very files, for this Python, in this place."""
        try:
            return self.stamp.read_text() == self.fingerprint()
        except OSError:
            return False

    def fingerprint(self):
        """Everything that a finished set-up depends on."""
        digest = hashlib.sha256()
        for part in (self.lock, self.root / "pyproject.toml"):
            digest.update(hashlib.sha256(part.read_bytes()).digest())
        digest.update(repr((sys.version, str(self.root))).encode())
        return digest.hexdigest()

    def build(self):
        """Install everything, and write the stamp last."""
        began = time.monotonic()
        say("setting up .venv (once; about 15 s with a good connection)")
        with contextlib.suppress(FileNotFoundError):
            self.stamp.unlink()
        self.remove_unusable()
        self.install()
        self.stamp.write_text(self.fingerprint())
        self.unfinished.unlink()
        say("set up in {:.0f} s".format(time.monotonic() - began))

    def install(self):
        """With uv if that works, for example because it knows the way to the package index; else with pip."""
        uv = self.uv()
        if uv:
            try:
                return self.install_with(uv)
            except subprocess.CalledProcessError:
                say("uv did not succeed; trying pip, which takes a minute")
        return self.install_with(Pip(self))

    def install_with(self, installer):
        """Make .venv and fill it."""
        installer.make_venv()
        self.unfinished.touch()
        installer.install()

    def remove_unusable(self):
        """An interrupted set-up, or one for another Python, is not repaired but made again."""
        if self.venv.exists() and (self.unfinished.exists() or not self.has_this_python()):
            shutil.rmtree(str(self.venv))

    def has_this_python(self):
        """Whether .venv's interpreter runs and is of our version."""
        question = "import sys; print(sys.version)"
        try:
            answer = subprocess.run([str(self.venv / "bin/python"), "-c", question], stdout=subprocess.PIPE)
        except OSError:
            return False
        return answer.stdout.decode().strip() == sys.version.strip()

    def uv(self):
        """uv, which installs ten times as fast as pip, from the package index or else from this machine."""
        for find in (self.own_uv, self.install_uv, lambda: shutil.which("uv")):
            program = find()
            if program:
                return Uv(self, program)
        return None

    def own_uv(self):
        """The uv of an earlier run, if it works."""
        program = str(self.boot / "bin/uv")
        try:
            works = subprocess.run([program, "--version"], stdout=subprocess.DEVNULL).returncode == 0
        except OSError:
            return None
        return program if works else None

    def install_uv(self):
        """The uv of requirements.lock, in .boot: --target works where pip refuses all else (PEP 668)."""
        pinned = self.boot / "uv.txt"
        pinned.write_text(pin_of("uv", self.lock.read_text()))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(self.boot), "--upgrade"]
        command += ["--no-deps", "--require-hashes", "-r", str(pinned)]
        result = subprocess.run(command, env=pip_environment(), stderr=subprocess.DEVNULL)
        return self.own_uv() if result.returncode == 0 else None


class Uv:
    """Builds the environment with uv."""

    def __init__(self, environment, program):
        self.environment = environment
        self.program = program

    def make_venv(self):
        """Create .venv, or leave the one that is there."""
        self.call("venv", "--allow-existing", "--python", sys.executable, str(self.environment.venv))

    def install(self):
        """Make the packages those of the lock, no more and no less, then add the project itself."""
        python = ("--python", str(self.environment.venv / "bin/python"))
        self.call("pip", "sync", *python, "--require-hashes", str(self.environment.lock))
        self.call(
            "pip", "install", *python, "--no-deps", "--no-build-isolation", "-e", str(self.environment.root)
        )

    def call(self, *words):
        """Run uv, which is silent unless something goes wrong."""
        subprocess.run([self.program, words[0], "--quiet", *words[1:]], check=True)


class Pip:
    """Builds the environment with what Python brings along, where uv is not to be had."""

    def __init__(self, environment):
        self.environment = environment

    def make_venv(self):
        """Create .venv, or leave the one that is there."""
        subprocess.run([sys.executable, "-m", "venv", str(self.environment.venv)], check=True)

    def install(self):
        """Install what the lock names, then the project itself."""
        # The lock is whole. Older pips do not see that psycopg[pool] is the psycopg that it names.
        self.call("--no-deps", "--require-hashes", "-r", str(self.environment.lock))
        self.call("--no-deps", "--no-build-isolation", "-e", str(self.environment.root))

    def call(self, *words):
        """Run the environment's own pip."""
        pip = [str(self.environment.venv / "bin/python"), "-m", "pip", "install", "--quiet"]
        subprocess.run(pip + list(words), env=pip_environment(), check=True)


def pip_environment():
    """The user's settings, without those that forbid what we do."""
    return dict(os.environ, PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", PIP_DISABLE_PIP_VERSION_CHECK="1")


def pin_of(name, lock):
    """The lines of one package in the lock file: its version and its hashes."""
    found = re.search(r"^{}==.*(?:\n[ \t]+--hash=.*)+".format(re.escape(name)), lock, re.MULTILINE)
    if found is None:
        sys.exit("run.py: requirements.lock does not name " + name)
    return found.group(0).rstrip("\\ \n") + "\n"


def home_has_room_for_a_cache():
    """Whether uv could make its cache in the usual place."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~")) / ".cache") / "uv"
    while not place.exists() and place != place.parent:
        place = place.parent
    return place.is_dir() and os.access(str(place), os.W_OK | os.X_OK)


@contextlib.contextmanager
def only_one(path):
    """Let one process at a time through; the lock goes with the process that holds it."""
    import fcntl

    with open(str(path), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run.py is setting up; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def check(programs):
    """Run every check, also after one that fails, and say how each ended."""
    migrations = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("migrations/*.sql"))
    checks = [
        ("format", ["ruff", "format", "--check", "."]),
        ("lint", ["ruff", "check", "."]),
        ("types", ["mypy", "--strict", "reaper", "examples"]),
        ("import layers", ["lint-imports"]),
        ("SQL", ["sqlfluff", "lint", "--disable-progress-bar", "sql", "migrations"]),
        ("migrations", ["squawk", *migrations]),
        ("docs", [*DOCS, "--site-dir", ".boot/site"]),
    ]
    results = [passes(name, [str(programs / words[0])] + words[1:]) for name, words in checks]
    return 0 if all(results) else 1


def passes(name, command):
    """Run one check and print one line, and what it found if it failed."""
    result = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    passed = result.returncode == 0
    print("{:14} {}".format(name, "ok" if passed else "failed"), flush=True)
    if not passed:
        print(result.stdout.decode(errors="replace"), flush=True)
    return passed


def say(sentence):
    """Tell a person what takes time; standard output belongs to the command."""
    print("run.py: " + sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
