"""Placement of the graphs of a set, link by link: schedules that fit, or the reason why there is none."""

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
from pipeline.lab import tables
from pipeline.lab.config.params import load
from pipeline.lab.graph_table import FROZEN_PLACEMENTS, write_graphs
from pipeline.lab.shared_tables import PLACEMENTS
from pipeline.placement.stages import place_graphs

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


def placed(folder: Path, seed: int = 0, **settings: Any) -> list[dict[Any, Any]]:
    graphs, out = folder / "graphs.parquet", folder / "placements.parquet"
    write_graphs(graphs, [GRAPH])
    place_graphs.main(json.dumps(settings), MACHINES, seed, graphs, FROZEN_PLACEMENTS, out)
    return tables.read(PLACEMENTS, out).to_dict("records")


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
