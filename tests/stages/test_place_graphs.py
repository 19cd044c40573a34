"""Stages of placed graphs: schedules that fit on every link or the reason why there is none, costs, and drawings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.limits import memory_limit
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.graph_sets import exported
from pipeline.graph_sets.stages import placed_graphs
from pipeline.lab import places, tables
from pipeline.lab.config.params import load
from pipeline.lab.graph_table import FROZEN_PLACEMENTS, write_graphs
from pipeline.lab.shared_tables import PLACEMENTS
from pipeline.placement.stages import judge_placements, place_graphs, placement_examples
from pipeline.placement.tables import PLACED_OPERATIONS

pytestmark = pytest.mark.slow

PARAMS = load()
DEVICE = PARAMS.devices["v100"]
LINKS = {name: PARAMS.links[name] for name in ("pcie", "nvlink")}
GRAPH = exported.load("light_squeezenet", "forward")
MACHINES = json.dumps(
    {
        "device": DEVICE.model_dump(),
        "devices": 4,
        "links": {name: link.model_dump() for name, link in LINKS.items()},
        "targets": list(LINKS),
    }
)


def table_of(folder: Path, name: str = "mine", **settings: Any) -> tuple[Path, Path]:
    """Tables of the graph, and of its placements by a method."""
    graphs = folder / "graphs.parquet"
    out = folder / places.path("placements", experiment="e", graph_set="s", method=name, seed=0)
    write_graphs(graphs, [GRAPH])
    place_graphs.main(json.dumps(settings), MACHINES, 0, graphs, FROZEN_PLACEMENTS, out)
    return graphs, out


def placed(folder: Path, **settings: Any) -> list[dict[Any, Any]]:
    return tables.read(PLACEMENTS, table_of(folder, **settings)[1]).to_dict("records")


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "go", "evaluations": 60},
        {"method": "expert", "by": "balanced"},
        {"method": "repaired", "of": {"method": "heft"}},
    ],
    ids=lambda settings: settings["method"],
)
def test_the_schedule_of_every_link_fits_and_costs_what_is_said(tmp_path: Path, settings: dict[str, Any]) -> None:
    rows = placed(tmp_path, **settings)
    assert [row["link"] for row in rows] == list(LINKS)
    problem = problem_of(GRAPH, 4, DEVICE, np.inf)
    problem = replace(problem, memory=memory_limit(problem))
    for row in rows:
        assert row["status"] == "ok" and row["message"] == ""
        target = targets.linked(problem, LINKS[row["link"]]).draws[0]
        judged = evaluated(target, row["order"][None], row["placement"][None])
        assert judged.fits.all() and judged.seconds[0] == pytest.approx(row["best_seconds"][-1])
    assert rows[1]["best_seconds"][-1] < rows[0]["best_seconds"][-1]  # over the faster link
    again = placed(tmp_path, **settings)
    assert all(np.array_equal(row["order"], repeated["order"]) for row, repeated in zip(rows, again, strict=True))


def test_what_has_no_schedule_says_why(tmp_path: Path) -> None:
    for row in placed(tmp_path, method="expert", by="published"):
        assert row["status"] == "unsupported" and row["message"] == "no published placement of this network is known"
        assert not len(row["order"]) and not len(row["best_seconds"])
    for row in placed(tmp_path, method="round_robin"):
        assert row["status"] in ("ok", "no schedule fits")
        assert (row["status"] == "ok") == bool(len(row["order"]))


def test_a_set_without_a_graph_of_its_size_is_refused(tmp_path: Path) -> None:
    none = json.dumps({"device": "v100", "networks": ["light_squeezenet"], "operations": [1, 10]})
    with pytest.raises(ValueError, match=r"placement_sets\.s: no graph has so many operations"):
        placed_graphs.main("s", none, tmp_path / "none.parquet")


def test_a_schedule_that_the_memory_does_not_hold_is_refused(tmp_path: Path) -> None:
    graphs, path = table_of(tmp_path, "go", method="go", evaluations=20)
    rows = tables.read(PLACEMENTS, path)
    rows["placement"] = [np.zeros(65, np.int16)] * len(rows)
    rows["order"] = [np.arange(65, dtype=np.int32)] * len(rows)
    tables.write(rows, PLACEMENTS, path)
    with pytest.raises(ValueError, match=r"go, seed 0, graph \w+, nvlink: the schedule exceeds the memory by \d"):
        judge_placements.main(MACHINES, graphs, [path], tmp_path / "costs.parquet")
    assert not (tmp_path / "costs.parquet").exists()


def test_what_the_page_draws_is_the_schedule(tmp_path: Path) -> None:
    graphs, path = table_of(tmp_path, "placed_heft", method="repaired")
    shown = {"set": "s", "graph": "light_squeezenet forward", "link": "nvlink", "methods": ["placed_heft"]}
    operations, memory = tmp_path / "operations.parquet", tmp_path / "held.parquet"
    placement_examples.main(json.dumps(shown), MACHINES, graphs, [path], operations, memory)
    drawn = tables.read(PLACED_OPERATIONS, operations)
    assert drawn["kind"].tolist() == list(GRAPH.kinds)
    row = tables.read(PLACEMENTS, path).set_index("link").loc["nvlink"]
    assert drawn["device"].tolist() == row["placement"].tolist()
    assert drawn["end"].max() == pytest.approx(row["best_seconds"][-1])
    depth, children = drawn["depth"].to_numpy(), GRAPH.children
    assert (depth[children.sources] < depth[children.targets]).all() and depth.min() == 0
    assert not drawn.duplicated(["depth", "row"]).any()
    with pytest.raises(ValueError, match=r"no graph 'other forward'; shown\.graph may be one of light_squeeze"):
        unknown = json.dumps(shown | {"graph": "other forward"})
        placement_examples.main(unknown, MACHINES, graphs, [path], operations, memory)
