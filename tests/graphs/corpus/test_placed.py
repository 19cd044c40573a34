"""Placement problems: frozen with their experts' placements; no family of networks is in training and in test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pipeline import tables
from pipeline.config.params import Params, load
from pipeline.graphs.corpus import exported
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.placed import EXPERTS, chosen, expert_placement, frozen_placement
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import worth
from pipeline.graphs.devices.judging import FROZEN
from pipeline.graphs.devices.limits import SHARE, WORKING_SET, memory_limit, working_sets
from pipeline.graphs.devices.simulator import peaks
from pipeline.graphs.problems.problem import Edges, Problem

DEVICES = (2, 4, 8)
PROBLEMS, PLACEMENTS = FROZEN / "placement_problems.parquet", FROZEN / "expert_placements.parquet"
UNSEEN = {"placement_unseen", "placement_unseen_larger"}


def of_sets(params: Params) -> Iterator[tuple[str, Graph, Problem]]:
    """Every graph with the first set that it is in, and number of devices, without a limit of memory."""
    before: set[str] = set()
    for name, settings in params.placement_sets.items():
        for graph in chosen(settings):
            if graph.graph_id in before:
                continue
            before.add(graph.graph_id)
            for devices in DEVICES:
                yield name, graph, problem_of(graph, devices, params.devices[settings.device], np.inf)


def problems(params: Params) -> pd.DataFrame:
    """Table `placement_problems`."""
    rows = []
    for name, graph, problem in of_sets(params):
        order = np.arange(len(graph), dtype=np.int32)
        rows.append(
            {
                "set": name,
                "graph_id": graph.graph_id,
                "name": graph.name,
                "variant": graph.variant,
                "family": graph.family,
                "operations": len(graph),
                "devices": problem.devices,
                "memory_bytes": memory_limit(problem),
                "one_device_bytes": float(peaks(problem, order, np.zeros_like(order))[0]),
                "headroom": worth.headroom(problem),
            }
        )
    return pd.DataFrame(rows, columns=tables.SCHEMAS["placement_problems"].names)


def placements(params: Params) -> pd.DataFrame:
    """Table `expert_placements`."""
    rows = []
    for _, graph, problem in of_sets(params):
        for expert in EXPERTS:
            placement = expert_placement(graph, problem.seconds, problem.devices, expert)
            if placement is not None:
                where = {"graph_id": graph.graph_id, "devices": problem.devices}
                rows.append(where | {"expert": expert, "placement": placement})
    return pd.DataFrame(rows, columns=tables.SCHEMAS["expert_placements"].names)


def test_the_frozen_tables_are_those_that_settings_and_code_give() -> None:
    params = load()
    now, frozen = problems(params), tables.read("placement_problems", PROBLEMS)
    assert now["graph_id"].tolist() == frozen["graph_id"].tolist()
    assert now["memory_bytes"].tolist() == pytest.approx(frozen["memory_bytes"].tolist(), rel=1e-12)
    then = tables.read("expert_placements", PLACEMENTS)
    for row, frozen_row in zip(placements(params).to_dict("records"), then.to_dict("records"), strict=True):
        assert (row["graph_id"], row["devices"], row["expert"]) == (
            frozen_row["graph_id"],
            frozen_row["devices"],
            frozen_row["expert"],
        )
        assert np.array_equal(row["placement"], frozen_row["placement"])


def test_families_of_the_test_are_learned_from_and_tuned_on_by_nobody() -> None:
    frozen = tables.read("placement_problems", PROBLEMS)
    families = {name: set(group["family"]) for name, group in frozen.groupby("set")}
    tested = families["placement_unseen"] | families["placement_unseen_larger"]
    assert not tested & families["placement_training"] and not tested & families["placement_development"]
    assert not families["placement_training"] & families["placement_development"]


def test_there_are_enough_test_graphs_and_each_is_worth_placing() -> None:
    frozen = tables.read("placement_problems", PROBLEMS)
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


def test_an_unknown_expert_is_refused_and_a_missing_one_is_none() -> None:
    graph = exported.load("light_squeezenet", "forward")
    with pytest.raises(ValueError, match="no expert 'guess'; the experts are layers, balanced, published"):
        expert_placement(graph, np.ones(len(graph)), 2, "guess")
    assert frozen_placement(PLACEMENTS, graph.graph_id, 4, "published") is None
    layers = frozen_placement(PLACEMENTS, graph.graph_id, 4, "layers")
    assert layers is not None and layers.tolist() == expert_placement(graph, np.ones(len(graph)), 4, "layers").tolist()
