"""Stages of fused graphs: reading, training, fusing, judging, numbers, and the drawn plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import fusion_problem
from learned_schedulers.graphs.compilers.optimum import PARTS as FROZEN_PARTS
from learned_schedulers.graphs.compilers.optimum import choices, optimum, with_head_room
from learned_schedulers.graphs.compilers.plan import Plan, members
from learned_schedulers.graphs.compilers.rates import frozen_rates
from learned_schedulers.graphs.models.fusing.fusing_search import DEFAULTS
from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph
from pipeline.fusion.stages import fuse_graphs, fusion_examples, judge_fusions
from pipeline.fusion.tables import FUSED_OPERATIONS, FUSION_COSTS, FUSION_PLANS
from pipeline.graph_sets.fusion_sets import fusion_graphs
from pipeline.graph_sets.stages import fusion_graphs as fusion_graphs_stage
from pipeline.lab import places, tables
from pipeline.lab.config.params import load
from pipeline.lab.graph_table import read_graphs

pytestmark = pytest.mark.slow

PARAMS = load()
LINKS = {name: PARAMS.links[name].model_dump() for name in ("pcie", "nvlink")}
ALONE = json.dumps({"device": None, "devices": 4, "links": {}, "targets": ["alone"]})
V100 = PARAMS.devices["v100"].model_dump()
ON_DEVICES = json.dumps({"device": V100, "devices": 4, "links": LINKS, "targets": list(LINKS)})
SET = {"networks": ["light_squeezenet"], "variants": ["forward"]}
SMALL = WholeGraph(width=8, graph_layers=1, attention_layers=1, heads=2, segment=32, samples=4)
SEARCH = {"evaluations": 12, "settings": SMALL.model_dump()}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are in the folder of the process."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    path = tmp_path / "graphs.parquet"
    fusion_graphs_stage.main("s", json.dumps(SET), path)
    return path


def plans(folder: Path, graphs: Path, machines: str, methods: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """Tables of each method's plans, seed 0."""
    paths = []
    for method, settings in methods.items():
        place = {"experiment": "e", "graph_set": "s", "method": method, "seed": 0}
        paths.append(folder / places.path("fusion_plans", **place))
        fuse_graphs.main(json.dumps(settings), machines, 0, graphs, paths[-1])
    return paths


def judged(folder: Path, graphs: Path, machines: str, paths: list[Path]) -> pd.DataFrame:
    costs = folder / places.path("fusion_costs", experiment="e", graph_set="s")
    judge_fusions.main(machines, graphs, paths, costs)
    return tables.read(FUSION_COSTS, costs)


def test_a_set_without_a_graph_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"fusion_sets\.s: no graph counts"):
        fusion_graphs_stage.main("s", json.dumps(SET | {"operations": [1, 10]}), tmp_path / "none.parquet")


def test_frozen_parts_are_those_that_the_parameters_draw() -> None:
    """The drawn parts of one network have frozen hashes; a part that is not frozen is refused."""
    settings = PARAMS.fusion_sets["fusion_unseen_parts"].model_copy(update={"networks": ["wavenet_36", "gnmt_4"]})
    rates = frozen_rates()
    drawn = fusion_graphs(settings, lambda graph: len(choices(fusion_problem(graph, rates))))
    frozen = pd.read_csv(FROZEN_PARTS).set_index("graph_id")
    assert (
        len(drawn) == 80 and [graph.name for graph in drawn] == frozen.loc[[g.graph_id for g in drawn], "name"].tolist()
    )
    for problem, part in [(fusion_problem(graph, rates), frozen.loc[graph.graph_id]) for graph in drawn]:
        assert part["choices"] == len(choices(problem))
        if part["choices"] <= 5:
            assert seconds(problem, optimum(problem)) == pytest.approx(part["optimum_seconds"], rel=1e-8)
            default = min(seconds(problem, rule(problem)) for rule in DEFAULTS.values())
            assert default == pytest.approx(part["default_seconds"], rel=1e-8)
    better = {graph.graph_id for graph in with_head_room(drawn)}
    assert better and {frozen.loc[graph, "family"] for graph in better} == {"gnmt"}
    unfrozen = fusion_graphs(FusionSet.model_validate(SET), lambda graph: 0)
    with pytest.raises(ValueError, match=r"fusion_parts\.csv does not contain light_squeezenet"):
        with_head_room(unfrozen)


def test_kernels_are_placed_on_devices(graphs: Path, tmp_path: Path) -> None:
    """The judge's makespans equal those of the search; a method for devices needs a link."""
    methods = {"go_joint": {"method": "go_joint"} | SEARCH, "xla_2023": {"method": "xla_2023"}}
    paths = plans(tmp_path, graphs, ON_DEVICES, methods)
    costs = judged(tmp_path, graphs, ON_DEVICES, paths)
    assert len(costs) == 4 and (costs["seconds"] > 0).all()
    for row in costs[costs["method"] == "go_joint"].to_dict("records"):
        assert row["seconds"] == pytest.approx(row["best_seconds"][-1])
    (alone,) = plans(tmp_path, graphs, ALONE, {"go_joint": {"method": "go_joint"} | SEARCH})
    (row,) = tables.read(FUSION_PLANS, alone).to_dict("records")
    assert row["status"] == "unsupported" and "name a link" in row["message"]


def test_a_plan_that_is_not_legal_is_refused(graphs: Path, tmp_path: Path) -> None:
    (path,) = plans(tmp_path, graphs, ALONE, {"separate": {"method": "separate"}})
    table = tables.read(FUSION_PLANS, path)
    table["kernel"] = [np.zeros(65, np.int32)]
    tables.write(table, FUSION_PLANS, path)
    with pytest.raises(ValueError, match=r"separate, seed 0, graph \w+: kernel 0 writes several results"):
        judged(tmp_path, graphs, ALONE, [path])


def test_what_the_page_draws_is_the_plan(graphs: Path, tmp_path: Path) -> None:
    paths = plans(tmp_path, graphs, ALONE, {"loop_fusion": {"method": "loop_fusion"}})
    shown: dict[str, Any] = {"set": "s", "graph": "light_squeezenet forward", "target": "alone"}
    shown |= {"methods": ["loop_fusion"], "operations": [3, 20]}
    out = tmp_path / "operations.parquet"
    fusion_examples.main(json.dumps(shown), graphs, paths, out)
    drawn = tables.read(FUSED_OPERATIONS, out)
    (graph,) = read_graphs(graphs)
    plan = Plan(np.asarray(tables.read(FUSION_PLANS, paths[0])["kernel"][0], np.int64))
    inside = members(fusion_problem(graph, frozen_rates()), plan)
    computed = {(i, kernel) for kernel, operations in inside.items() for i in operations if 3 <= i <= 20}
    assert set(zip(drawn["operation"], drawn["kernel"], strict=True)) == computed
    depth = drawn.groupby("operation")["depth"].first()
    read = drawn[["operation", "parents"]].explode("parents").dropna()
    assert len(read) and (depth[read["parents"]].to_numpy() < depth[read["operation"]].to_numpy()).all()
    assert (drawn["kernels"] == plan.kernels).all()
    with pytest.raises(ValueError, match=r"no graph 'other forward'; shown\.graph may be one of light_squeeze"):
        fusion_examples.main(json.dumps(shown | {"graph": "other forward"}), graphs, paths, out)
