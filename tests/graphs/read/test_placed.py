"""Placement problems and experts' placements are frozen; no family of networks is in training and in test."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from learned_schedulers.graphs.devices import worth
from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.devices.limits import SHARE, WORKING_SET, memory_limit, working_sets
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.problems.problem import Edges, Problem
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.graph_sets import exported
from pipeline.graph_sets.placed import chosen
from pipeline.graph_sets.tables import EXPERT_PLACEMENTS, PLACEMENT_PROBLEMS
from pipeline.lab import tables
from pipeline.lab.config.params import load
from pipeline.lab.graph_table import FROZEN_PLACEMENTS, frozen_placement

PROBLEMS = FROZEN / "placement_problems.parquet"
UNSEEN = {"placement_unseen", "placement_unseen_larger"}


def test_the_frozen_problems_are_those_that_settings_and_code_give() -> None:
    """Every graph with the first set that it is in, for every number of devices, in the sequence of the tables."""
    params = load()
    frozen = iter(tables.read(PLACEMENT_PROBLEMS, PROBLEMS).to_dict("records"))
    graphs = {}
    for settings in params.placement_sets.values():
        for graph in chosen(settings):
            graphs.setdefault(graph.graph_id, (graph, params.devices[settings.device]))
    for (graph, device), devices in product(graphs.values(), (2, 4, 8)):
        problem, row = problem_of(graph, devices, device, np.inf), next(frozen)
        assert (graph.graph_id, devices) == (row["graph_id"], row["devices"])
        assert memory_limit(problem) == pytest.approx(row["memory_bytes"], rel=1e-12)
        assert worth.headroom(problem) == pytest.approx(row["headroom"], rel=1e-9)
    assert next(frozen, None) is None


def test_every_frozen_placement_is_of_a_frozen_problem() -> None:
    problems = tables.read(PLACEMENT_PROBLEMS, PROBLEMS).drop_duplicates(["graph_id", "devices"])
    placed = tables.read(EXPERT_PLACEMENTS, FROZEN_PLACEMENTS).merge(problems, on=["graph_id", "devices"], how="left")
    assert {"layers", "balanced"} <= set(placed["expert"])
    for row in placed.to_dict("records"):
        assert len(row["placement"]) == row["operations"] and set(row["placement"]) <= set(range(row["devices"]))


def test_families_of_the_test_are_learned_from_and_tuned_on_by_nobody() -> None:
    frozen = tables.read(PLACEMENT_PROBLEMS, PROBLEMS)
    families = {name: set(group["family"]) for name, group in frozen.groupby("set")}
    tested = families["placement_unseen"] | families["placement_unseen_larger"]
    assert not tested & families["placement_training"] and not tested & families["placement_development"]
    assert not families["placement_training"] & families["placement_development"]


def test_there_are_enough_test_graphs_and_each_is_worth_placing() -> None:
    frozen = tables.read(PLACEMENT_PROBLEMS, PROBLEMS)
    tested = frozen[frozen["set"].isin(UNSEEN) & (frozen["devices"] == 4)]
    assert len(tested) >= 12 and (tested["operations"] > 300).sum() >= 6
    forbidden = tested["one_device_bytes"] > tested["memory_bytes"]
    assert ((tested["headroom"] >= 1.5) | forbidden).all()


def test_devices_have_an_and_a_half_share_but_room_for_every_operation() -> None:
    edges = Edges(np.array([0, 1, 2, 2], np.int32), np.array([1, 2], np.int32))
    problem = Problem(np.ones(3), np.array([10.0, 10.0, 10.0]), edges, 2, weight_bytes=np.array([100.0, 100.0, 100.0]))
    peak = peaks(problem, np.arange(3, dtype=np.int32), np.zeros(3, np.int32))[0]
    assert working_sets(problem).tolist() == [110.0, 120.0, 120.0]
    assert memory_limit(problem) == SHARE * peak / 2
    assert memory_limit(replace(problem, devices=8)) == WORKING_SET * 120


def test_a_missing_placement_is_none() -> None:
    graph = exported.load("light_squeezenet", "forward")
    assert frozen_placement(FROZEN_PLACEMENTS, graph.graph_id, 4, "published") is None
    assert frozen_placement(FROZEN_PLACEMENTS, graph.graph_id, 4, "layers") is not None
