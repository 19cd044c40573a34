"""Targets by name: the frozen strengths follow from list scheduling on the development graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.config.devices import Link
from pipeline.config.params import Params, load
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.corpus.sets import candidates
from pipeline.graphs.devices import judging, targets, worth
from pipeline.graphs.devices.judging import hidden_of
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from tests.graphs.problems import drawn

ROOT = Path(__file__).parents[3]
LINKS = {"pcie": Link(bytes_per_second=100.0, seconds=0.25)}
ID = "ab" * 32
Kinds = dict[str, Callable[[Graph, Problem], Callable[[float], Target]]]
KINDS: Kinds = {
    "noisy": lambda graph, problem: partial(targets.noisy, problem, normals=hidden_of(graph.graph_id, problem)),
    "bandwidth": lambda graph, problem: partial(targets.bandwidth, problem),
    "latency": lambda graph, problem: partial(targets.latency, problem),
}


class Development:
    """The graphs of a set with their list schedules on the proxy."""

    def __init__(self, name: str, graphs: Sequence[Graph], params: Params) -> None:
        chosen = params.graph_sets[name]
        device = None if chosen.device is None else params.devices[chosen.device]
        self.name, self.graphs = name, list(graphs)
        self.problems = [problem_of(graph, chosen.devices, device, chosen.memory_bytes) for graph in graphs]
        self.schedules = [by_critical_path(problem) for problem in self.problems]

    def of(self, kind: str) -> list[Callable[[float], Target]]:
        """For each graph, a function from the strength to the target."""
        return [KINDS[kind](graph, problem) for graph, problem in zip(self.graphs, self.problems, strict=True)]

    def ratios(self, kind: str, strength: float) -> list[float]:
        """For each graph, list scheduling's speedup on the target over that on the proxy."""
        zipped = zip(self.of(kind), self.problems, self.schedules, strict=True)
        return [
            targets.speedup_ratio(target_at(strength), problem, *schedule) for target_at, problem, schedule in zipped
        ]


def development(name: str) -> Development:
    params = load(ROOT / "params.yaml")
    chosen = params.graph_sets[name]
    device = None if chosen.device is None else params.devices[chosen.device]
    every = candidates(chosen, lambda graph: worth.refusal_of(problem_of(graph, chosen.devices, device)))
    return Development(name, [candidate.graph for candidate in every if not candidate.refused], params)


def test_the_frozen_strengths_give_the_papers_ratios_on_the_frozen_development_graphs() -> None:
    table = pd.read_csv(judging.FROZEN / "graph_targets.csv").set_index("target")
    figures = pd.read_csv(judging.FROZEN / "calibration.csv")
    sets = [development("development_real"), development("development_synthetic")]
    assert dict(table["ratio"]) == targets.RATIOS
    for name, strength in judging.strengths().items():
        ratios = [ratio for graph_set in sets for ratio in graph_set.ratios(name, strength)]
        assert np.mean(ratios) == pytest.approx(targets.RATIOS[name], abs=1e-4)
        frozen = figures[figures["target"] == name]
        assert frozen["graph_id"].tolist() == [graph.graph_id for graph_set in sets for graph in graph_set.graphs]
        assert ratios == pytest.approx(frozen["ratio"].tolist(), rel=1e-5)


def test_every_name_has_its_target_and_an_unknown_one_is_refused() -> None:
    problem, frozen = drawn.problem(np.random.default_rng(0)), judging.strengths()
    of = {name: judging.target_of(name, ID, problem, frozen, LINKS) for name in (*frozen, "proxy", "pcie")}
    assert len(of["noisy"].draws) == targets.HIDDEN_DRAWS
    assert of["proxy"].draws[0].transfers.delay == 0 and of["bandwidth"].draws[0].transfers.delay == 0
    assert of["latency"].draws[0].transfers.slope == 0 < of["latency"].draws[0].transfers.delay
    assert (of["pcie"].draws[0].transfers.slope, of["pcie"].draws[0].transfers.delay) == (0.01, 0.25)
    with pytest.raises(ValueError, match="no target 'nvlink'; the targets are proxy, noisy, bandwidth, latency, pcie"):
        judging.target_of("nvlink", ID, problem, frozen, LINKS)


def test_what_is_hidden_follows_from_the_graph_alone() -> None:
    problem = drawn.problem(np.random.default_rng(0))
    assert np.array_equal(judging.hidden_of(ID, problem), judging.hidden_of(ID, problem))
    assert not np.array_equal(judging.hidden_of(ID, problem), judging.hidden_of("cd" * 32, problem))


def test_a_lost_or_cut_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"graph_targets\.csv: this is not a table of frozen targets"):
        judging.strengths(tmp_path)
    (tmp_path / "graph_targets.csv").write_text("target,strength\nnoisy,0.5\n")
    with pytest.raises(ValueError, match=r"the strengths of \['bandwidth', 'latency'\] are missing; restore"):
        judging.strengths(tmp_path)
