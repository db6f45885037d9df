"""Rules, board and docs name the metrics that exist, and all of them."""

import json
import re
from pathlib import Path

import yaml
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.metrics_core import Metric

from reaper.telemetry.metrics import Metrics
from reaper.telemetry.state_gauges import GAUGES

ROOT = Path(__file__).parents[3]
NAME = re.compile(r"\breaper_[a-z0-9_]+\b")
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
# Roles and the schema begin like metrics.
OTHERS = {"reaper_owner", "reaper_worker", "reaper_app", "reaper_ops", "reaper_ro", "reaper_internal"}


def families() -> list[Metric]:
    """All that a worker exports, with a snapshot."""
    metrics = Metrics(CollectorRegistry())
    gauges = [
        {"gauge": name, "labels": dict.fromkeys(labels, "x"), "value": 1}
        for name, (labels, _) in GAUGES.items()
    ]
    metrics.state.show(0.0, 0.0, gauges)
    return list(metrics.registry.collect())


def exported() -> dict[str, set[str]]:
    """The names of the series of each family, as PromQL knows them."""
    return {f.name: {f.name + suffix for suffix in SUFFIXES[f.type]} for f in families()}


def named_in_rules() -> set[str]:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())
    return {
        name
        for group in rules["groups"]
        for rule in group["rules"]
        for text in (rule["expr"], *rule["annotations"].values())
        for name in NAME.findall(text)
    }


def named_in_board() -> set[str]:
    board = json.loads((ROOT / "deploy/grafana/reaper.json").read_text())
    return {
        name
        for panel in board["panels"]
        for target in panel.get("targets", ())
        for name in NAME.findall(target["expr"])
    }


def named_in_docs() -> set[str]:
    """The first cells of the tables of metrics in docs/operations.md."""
    page = (ROOT / "docs/operations.md").read_text()
    section = page.split("\n## Metrics\n", 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `reaper_")]
    return {name for cell in cells for name in NAME.findall(cell)}


def test_rules_and_board_use_only_series_that_are_exported() -> None:
    series = set().union(*exported().values())
    assert named_in_rules() - series == set()
    assert named_in_board() - series == set()
    test_series = set(NAME.findall((ROOT / "deploy/prometheus/rules_test.yml").read_text()))
    assert test_series - series == set()


def test_every_exported_metric_is_on_the_board_or_in_a_rule() -> None:
    used = named_in_rules() | named_in_board()
    assert {family for family, series in exported().items() if not series & used} == set()


def test_docs_name_every_exported_metric_and_no_other() -> None:
    known = {name: family.type for family in families() for name in [family.name + SUFFIXES[family.type][0]]}
    documented = {
        f"{name}_bucket" if f"{name}_bucket" in known else name for name in named_in_docs() - OTHERS
    }
    assert documented == known.keys()


def test_runbook_links_lead_to_sections_of_the_docs() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())
    for rule in rules["groups"][0]["rules"]:
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        titles = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert anchor in anchors, rule["alert"]


def test_labels_of_a_histogram_are_no_names() -> None:
    assert isinstance(Metrics(CollectorRegistry()).step_seconds, Histogram)
