"""dvc.yaml says what the Snakefile says."""

import contextlib
import json
import re
from pathlib import Path

import pytest
import yaml

from pipeline import dvcfile
from pipeline.dvcfile import STAGES, Files
from pipeline.wiring import ROOT

# Not DVC's: their results are committed by git, and made by hand.
FROZEN = {"all", "publish", "verify", "compile", "train_ordering", "ship", "ceiling", "audit"} | {
    "errors", "machine_instructions", "optima", "learn_policy", "timelines", "time_orders", "graph_examples",
    "job_examples", "train_slot_network", "coarsen_graphs", "time_graph_schedules", "simulate_executed",
    "evaluate_execution", "train_policy", "measure_distances", "evaluate_policies", "ship_policy", "ship_schedulers",
    "ship_whole_graph",
    "placed_graphs", "train_whole_graph", "place_graphs", "judge_placements", "evaluate_placement",
    "placement_examples", "expert_placements", "placed_schedules",
    "fusion_graphs", "train_fusing", "fuse_graphs", "judge_fusions", "evaluate_fusion",
    "fusion_examples",
}  # fmt: skip


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ROOT)
    return ROOT


def test_dvc_yaml_is_derived_from_the_snakefile(repository: Path) -> None:
    assert Path("dvc.yaml").read_text() == dvcfile.text(), "make dvc.yaml"


def test_every_rule_is_in_one_stage(repository: Path) -> None:
    text = "\n".join(path.read_text() for path in [Path("Snakefile"), *Path("rules").glob("*.smk")])
    written = set(re.findall(r"^rule (\w+):$", text, re.MULTILINE))
    staged = [rule for stage in STAGES.values() for rule in stage.rules]
    assert len(staged) == len(set(staged))
    assert set(staged) == written - FROZEN


def test_no_output_is_in_two_stages(repository: Path) -> None:
    stages = yaml.safe_load(Path("dvc.yaml").read_text())["stages"]
    outs = [
        stage.get("foreach", "") + json.dumps(out)
        for stage in stages.values()
        for out in stage.get("do", stage)["outs"]
    ]
    assert len(outs) == len(set(outs))


CHANGES: list[tuple[str, object]] = [
    ("corpus.min_instructions", 1),
    ("corpus.shards", 3),
    ("split.seed", 7),
    ("split.n_instructions", 6),
    ("tokens.min_count", 9),
    ("sets.test_5.lengths", [5, 6]),
    ("judges.atom.iterations", 9),
    ("bases.popocs.floor", 0.5),
    ("experiments.quick.seeds", [5]),
    ("experiments.quick.judges", ["atom"]),
    ("methods.popocs_20.iterations", 9),
    ("experiments.devices_quick.seeds", [5]),
    ("graph_methods.randomised_list.least_noise", 0.2),
    ("graph_sets.tiny_synthetic.devices", 3),
    ("devices.v100.launch_seconds", 1e-6),
    ("links.pcie.seconds", 1e-6),
    ("evaluation.bootstrap_samples", 9),
    ("evaluation.sweep_iterations", [9]),
    ("evaluation.example_blocks", 9),
    ("residuals.blocks", 9),
]


@pytest.fixture(scope="module")
def unchanged() -> dict[str, Files]:
    with contextlib.chdir(ROOT):
        return dvcfile.rules(Path("params.test.yaml"))


@pytest.mark.e2e  # each asks Snakemake for its whole DAG
@pytest.mark.parametrize(("key", "value"), CHANGES, ids=[key for key, _ in CHANGES])
def test_a_stage_names_the_parameters_that_change_it(
    repository: Path, unchanged: dict[str, Files], tmp_path: Path, key: str, value: object
) -> None:
    """Where Snakemake would run other commands or make other files, DVC must see a changed parameter, too."""
    params = yaml.safe_load(Path("params.test.yaml").read_text())
    *sections, last = key.split(".")
    place = params
    for part in sections:
        place = place[part]
    assert place.get(last) != value
    place[last] = value
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    changed = dvcfile.rules(tmp_path / "params.yaml")
    moved = {rule for rule in unchanged if without_inputs(unchanged[rule]) != without_inputs(changed[rule])}
    assert moved
    for name, stage in STAGES.items():
        if moved & set(stage.rules):
            item = {"experiments": "quick", "graph_experiments": "devices_quick"}.get(stage.each, "")
            named = [param.replace("${item}", item) for param in stage.params]
            assert any(f"{key}.".startswith(f"{param}.") for param in named), f"stage {name} does not name {key}"


def without_inputs(files: Files) -> tuple[set[str], set[str]]:
    """What a rule runs and makes; paths of inputs in its command are DVC's to see through them."""
    return {re.sub(r"data/\S+", "", command) for command in files.commands}, files.outputs


def test_files_of_experiments_have_a_stage_each() -> None:
    place = STAGES["judge"].place
    assert place("data/experiments/paper/judged/test_5/atom.parquet", ["paper"]) == "data/experiments/${item}/judged"
    assert place("data/dags/released/paper.parquet", ["paper"]) == "data/dags/released"
    report = STAGES["report"].place("data/experiments/paper/results.parquet", ["quick", "paper"])
    assert report == "data/experiments/paper/results.parquet"
