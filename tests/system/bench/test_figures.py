"""Arithmetic, tables, plots and files, from results that were made up."""

import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from reaper.dev.bench import markdown_page, plan, plots, targets, variants
from reaper.dev.bench.cost_growth import Growth, GrowthInOrder
from reaper.dev.bench.foreground_latency import Kind, LatencyRound, Phase
from reaper.dev.bench.key_costs import KeyCosts
from reaper.dev.bench.output import publish
from reaper.dev.bench.pinned_snapshot import Snapshots
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.results import Results, as_json
from reaper.dev.bench.statistics import paired_ratio, percentile, spread
from reaper.dev.bench.svg import scale_top
from reaper.errors import ConfigError
from tests.support.bench_runs import made_up


def test_a_ratio_is_that_of_the_rounds_not_of_the_sums():
    assert paired_ratio([1, 10, 30], [2, 20, 10]) == 0.5
    assert math.isnan(paired_ratio([], [1.0]))


def test_percentiles_are_values_that_occurred():
    values = [float(n) for n in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (50, 99, 7)
    assert math.isnan(percentile([], 0.5))


def test_spread_is_relative():
    assert spread([90, 100, 110]) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("largest", "top"), [(46_000, 50_000), (7.2, 8), (0.34, 0.4), (1, 1), (0, 1), (120, 150)]
)
def test_an_axis_ends_at_a_round_number(largest: float, top: float):
    assert scale_top(largest) == pytest.approx(top)


def test_targets_compare_within_one_run(results: Results):
    judged = {target.figure: target for target in targets.judge(results)}
    two = judged["reaper, database path, direct, 2 workers ÷ floor, random order"]
    assert (two.measured, two.goal, two.met) == (1.25, 1.2, True)
    assert judged["reaper, database path, direct ÷ floor, cohort order"].measured == 0.7
    assert judged["reaper, everything, direct, 2 workers ÷ floor, with Valkey and S3"].met is False
    assert judged["reaper, database path, 2 workers ÷ row by row, random order"].measured == 15
    seeds = "seeds in plain Python, 2 workers, random order"
    assert judged[f"reaper, database path, direct, 2 workers ÷ {seeds}"].measured == 6.25
    assert judged[f"reaper, database path, 2 workers ÷ {seeds}"].measured == 3.75
    assert judged["cost per row, direct, bare-hash keys ÷ random keys"].measured == pytest.approx(1.1)
    assert judged["claim p99, direct, snapshot pinned ÷ not"].measured == 1
    assert judged["foreground p99, draining at 2,000 rows/s, direct ÷ idle"].measured == 1.25


def test_growth_is_measured_by_that_of_the_floor(results: Results):
    grown = next(t for t in targets.judge(results) if t.figure.startswith("growth of the cost per row"))
    # A row costs reaper 1.25 times as much in the larger table, and the floor twice as much.
    assert (grown.measured, grown.by_cpu, grown.met) == (pytest.approx(0.625), 1, True)


def test_cpu_has_goals_of_its_own(results: Results):
    by_cpu = {t.figure: t for t in targets.judge(results) if t.figure.endswith(", by CPU")}
    direct = by_cpu["reaper, database path, direct ÷ floor, random order, by CPU"]
    assert (direct.goal, direct.measured, direct.met) == (0.65, 1, True)
    assert by_cpu["reaper, database path ÷ floor, cohort order, by CPU"].goal == 0.6


@pytest.mark.parametrize(("version", "goal"), [("18.6", 0.9), ("15.18 (Debian)", 0.7)])
def test_the_goal_of_marking_depends_on_the_server(results: Results, version: str, goal: float):
    judged = targets.judge(replace(results, settings={"server_version": version}))
    name = "reaper, database path, 2 workers ÷ floor, cohort order"
    assert [target.goal for target in judged if target.figure == name] == [goal]


def test_what_was_not_measured_is_neither_reached_nor_missed(results: Results):
    call = next(t for t in targets.judge(results) if t.figure.startswith("call reaper.drain()"))
    assert call.met is None
    assert call.as_json()["measured"] is None


def test_the_json_document_says_everything_once_more(results: Results):
    document = json.loads(as_json(results, [t.as_json() for t in targets.judge(results)]))
    assert (document["schema"], document["server_version"]) == (3, "18.6")
    assert set(document) == {
        *("schema", "plan", "version", "began", "seconds", "machine", "others_share", "server_version"),
        *("settings", "targets"),
        *("runs", "keys", "growth", "snapshots", "foreground", "problems"),
    }
    run = document["runs"][0]
    assert (run["method"], run["rows_per_second"], run["hot_share"]) == ("floor", 40_000, 0.95)
    assert (run["server_cpu_us_per_row"], run["wal_bytes_per_row"], run["index_inserts_per_row"]) == (
        30,
        1500,
        0.2,
    )
    assert {t["met"] for t in document["targets"]} <= {True, False, None}


def test_what_the_check_found_is_told(results: Results):
    wrong = made_up(results.workloads()[0], variants.CALL, 1, 1.0, ("3 rows are still due",))
    assert replace(results, runs=(*results.runs, wrong)).problems == [
        "call reaper.drain() on random order: 3 rows are still due"
    ]


def test_what_a_drain_beside_the_foreground_found_wrong_is_told(results: Results):
    wrong = Phase(Kind.STEADY_DIRECT, (LatencyRound((0.001,), 2000.0, ("rows were marked",)),))
    idle, *_ = results.foreground
    assert replace(results, foreground=(idle, wrong)).problems == [
        "draining at 2,000 rows/s, direct: rows were marked"
    ]


def test_a_busy_machine_is_told(results: Results):
    assert results.warnings == []
    busy_drain = all_busy(results.snapshots.direct)
    keys, snapshots = KeyCosts(*(busy_drain,) * 4), Snapshots(*(busy_drain,) * 4)
    order = GrowthInOrder((busy_drain,), (busy_drain,))
    partly = replace(results, keys=keys, growth=Growth(order, order), snapshots=snapshots)
    busy = replace(partly, runs=all_busy(Rounds(results.runs)).runs)
    assert "40%" in busy.warnings[0]
    assert 0 < partly.others < busy.others


def test_a_pace_that_was_not_kept_is_told(results: Results):
    slow = Phase(Kind.STEADY, (LatencyRound((0.001,), 1500.0),))
    assert replace(results, foreground=(*results.foreground[:2], slow)).warnings == [
        "draining at 2,000 rows/s: only 1,500 went, and disturbed less."
    ]


def all_busy(rounds: Rounds) -> Rounds:
    return Rounds(tuple(replace(run, cost=replace(run.cost, others=0.4)) for run in rounds.runs))


@pytest.mark.parametrize("draw", [plots.throughput, plots.growth, plots.foreground])
def test_plots_are_well_formed_and_stay_on_their_sheet(results: Results, draw):
    sheet = ElementTree.fromstring(draw(results))
    width, height = float(sheet.get("width")), float(sheet.get("height"))
    shapes = [e for e in sheet.iter() if e.get("x") is not None]
    assert shapes
    assert all(0 <= float(e.get("x")) <= width and 0 <= float(e.get("y")) <= height for e in shapes)


def test_what_is_off_the_scale_has_no_bar(results: Results):
    assert variants.PARTITION.name not in plots.throughput(results)


def test_a_run_leaves_tables_json_plots_and_a_page(results: Results, tmp_path: Path):
    console = Console(record=True, width=160)
    onto = tmp_path / "performance.md"
    places = [
        f"{markdown_page.BEGIN}\n{{text}}\n{markdown_page.END}\n\n".format(major=major, text=text)
        for major, text in ((18, "old"), (15, "of another server"))
    ]
    onto.write_text(f"before\n\n{''.join(places)}after\n")
    publish(results, console, tmp_path / "out", onto)
    text = console.export_text()
    assert "reaper, database path, 2 workers" in text
    assert "direct, bare-hash keys" in text
    assert "reached" in text
    assert {f.name for f in (tmp_path / "out").iterdir()} == {
        *("results.json", "throughput.svg", "growth.svg", "foreground.svg"),
    }
    shown = onto.read_text()
    assert shown.startswith("before")
    assert shown.endswith("after\n")
    assert "old" not in shown
    assert "of another server" in shown
    assert "| floor |" in shown
    assert "on PostgreSQL 18.6: 2 CPUs" in shown
    assert (tmp_path / "performance" / "18" / "throughput.svg").exists()
    assert "(performance/18/throughput.svg)" in shown


def test_a_page_without_a_place_for_figures_is_left_alone(tmp_path: Path):
    onto = tmp_path / "page.md"
    onto.write_text("nothing here")
    with pytest.raises(ConfigError, match="no place for figures of PostgreSQL 15"):
        markdown_page.insert(onto, "figures", 15)
    assert onto.read_text() == "nothing here"


def test_every_plan_runs_every_method_three_times_at_least():
    for quickly, biggest in ((True, False), (False, False), (False, True)):
        chosen = plan.choose(quickly, biggest, None, 1)
        assert all(each.rounds >= 3 for each in chosen.comparisons)
        assert all(variants.FLOOR in each.variants for each in chosen.comparisons)
        assert chosen.steps > 0


def test_every_plan_has_direct_release_in_both_orders():
    for quickly in (True, False):
        main, cohort, *_ = plan.choose(quickly, False, None, 1).comparisons
        assert {*variants.DIRECT.values(), *variants.MARK.values()} <= {*main.variants} & {*cohort.variants}
