"""Stages of placed graphs: reading, training, placing, judging, numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.graph_sets.stages import placed_graphs
from pipeline.lab import places, tables
from pipeline.lab.config.params import load
from pipeline.lab.graph_table import FROZEN_PLACEMENTS, read_graphs
from pipeline.lab.shared_tables import PLACEMENTS
from pipeline.lab.wiring import ROOT
from pipeline.placement.stages import (
    judge_placements,
    place_graphs,
    placement_examples,
)
from pipeline.placement.tables import PLACED_OPERATIONS

pytestmark = pytest.mark.slow

PARAMS = load()
DEVICE = PARAMS.devices["v100"].model_dump_json()
LINKS = {name: PARAMS.links[name].model_dump() for name in ("pcie", "nvlink")}
MACHINES = json.dumps({"device": json.loads(DEVICE), "devices": 4, "links": LINKS, "targets": list(LINKS)})
SET = json.dumps({"device": "v100", "networks": ["light_squeezenet"]})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are in the folder of the process."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    path = tmp_path / "graphs.parquet"
    placed_graphs.main("s", SET, path)
    return path


def test_a_set_holds_the_graphs_of_its_size(graphs: Path, tmp_path: Path) -> None:
    assert [(graph.name, len(graph)) for graph in read_graphs(graphs)] == [("light_squeezenet", 65)]
    none = json.dumps({"device": "v100", "networks": ["light_squeezenet"], "operations": [1, 10]})
    with pytest.raises(ValueError, match=r"placement_sets\.s: no graph has so many operations"):
        placed_graphs.main("s", none, tmp_path / "none.parquet")


def test_a_schedule_that_the_memory_does_not_hold_is_refused(graphs: Path, tmp_path: Path) -> None:
    place = {"experiment": "e", "graph_set": "s", "method": "go", "seed": 0}
    path = tmp_path / places.path("placements", **place)
    place_graphs.main(
        json.dumps({"method": "go", "evaluations": 20}), MACHINES, 0, graphs, ROOT / FROZEN_PLACEMENTS, path
    )
    placed = tables.read(PLACEMENTS, path)
    placed["placement"] = [np.zeros(65, np.int16)] * len(placed)
    placed["order"] = [np.arange(65, dtype=np.int32)] * len(placed)
    tables.write(placed, PLACEMENTS, path)
    with pytest.raises(ValueError, match=r"go, seed 0, graph \w+, nvlink: the schedule exceeds the memory by \d"):
        judge_placements.main(MACHINES, graphs, [path], tmp_path / "costs.parquet")
    assert not (tmp_path / "costs.parquet").exists()


def test_what_the_page_draws_is_the_schedule(graphs: Path, tmp_path: Path) -> None:
    outputs = []
    for method in ("placed_heft", "expert_layers"):
        settings = {"method": "repaired"} if method == "placed_heft" else {"method": "expert"}
        place = {"experiment": "e", "graph_set": "s", "method": method, "seed": 0}
        outputs.append(tmp_path / places.path("placements", **place))
        place_graphs.main(json.dumps(settings), MACHINES, 0, graphs, ROOT / FROZEN_PLACEMENTS, outputs[-1])
    shown = {"set": "s", "graph": "light_squeezenet forward", "link": "nvlink", "methods": ["placed_heft"]}
    operations, memory = tmp_path / "operations.parquet", tmp_path / "held.parquet"
    placement_examples.main(json.dumps(shown), MACHINES, graphs, outputs, operations, memory)
    drawn = tables.read(PLACED_OPERATIONS, operations)
    (graph,) = read_graphs(graphs)
    assert drawn["kind"].tolist() == list(graph.kinds)
    placed = tables.read(PLACEMENTS, outputs[0]).set_index("link").loc["nvlink"]
    assert drawn["device"].tolist() == placed["placement"].tolist()
    assert drawn["end"].max() == pytest.approx(placed["best_seconds"][-1])
    depth = drawn["depth"].to_numpy()
    children = graph.children
    assert (depth[children.sources] < depth[children.targets]).all() and depth.min() == 0
    assert not drawn.duplicated(["depth", "row"]).any()
    with pytest.raises(ValueError, match=r"no graph 'other forward'; shown\.graph may be one of light_squeeze"):
        unknown = json.dumps(shown | {"graph": "other forward"})
        placement_examples.main(unknown, MACHINES, graphs, outputs, operations, memory)
