"""Targets by name: the frozen strengths follow from list scheduling on the development graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.devices import judging, targets, worth
from learned_schedulers.graphs.devices.settings import Link
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.graph_sets.sets import candidates
from pipeline.lab.config.params import load
from tests.graphs.problems import drawn

ROOT = Path(__file__).parents[3]
LINKS = {"pcie": Link(bytes_per_second=100.0, seconds=0.25)}
ID = "ab" * 32


RATIOS = {"noisy": 0.85, "bandwidth": 0.32, "latency": 0.54}  # list scheduling's speedup, target over proxy: table 1


def development(name: str) -> list[tuple[str, Problem]]:
    """The hash of every graph of a set, and its problem."""
    params = load(ROOT / "params.yaml")
    chosen = params.graph_sets[name]
    device = None if chosen.device is None else params.devices[chosen.device]
    every = candidates(chosen, lambda graph: worth.refusal_of(problem_of(graph, chosen.devices, device)))
    graphs = [candidate.graph for candidate in every if not candidate.refused]
    return [(graph.graph_id, problem_of(graph, chosen.devices, device, chosen.memory_bytes)) for graph in graphs]


def speedup(target: targets.Target, order: np.ndarray, placement: np.ndarray) -> float:
    """Total run time (of all draws) over makespan, as in the paper."""
    return float(target.mean.seconds.sum() / target.seconds(order[None], placement[None])[0])


@pytest.mark.slow
def test_the_frozen_strengths_give_the_papers_ratios_on_the_frozen_development_graphs() -> None:
    table = pd.read_csv(judging.FROZEN / "graph_targets.csv").set_index("target")
    figures = pd.read_csv(judging.FROZEN / "calibration.csv")
    graphs = [*development("development_real"), *development("development_synthetic")]
    schedules = [by_critical_path(problem) for _, problem in graphs]
    assert dict(table["ratio"]) == RATIOS
    for name in judging.strengths():
        ratios = [
            speedup(judging.target_of(name, graph_id, problem, judging.strengths(), {}), *schedule)
            / speedup(targets.proxy(problem), *schedule)
            for (graph_id, problem), schedule in zip(graphs, schedules, strict=True)
        ]
        assert np.mean(ratios) == pytest.approx(RATIOS[name], abs=1e-4)
        frozen = figures[figures["target"] == name]
        assert frozen["graph_id"].tolist() == [graph_id for graph_id, _ in graphs]
        assert ratios == pytest.approx(frozen["ratio"].tolist(), rel=1e-5)


def test_every_name_has_its_target_and_an_unknown_one_is_refused() -> None:
    problem, frozen = drawn.problem(np.random.default_rng(0)), judging.strengths()
    of = {name: judging.target_of(name, ID, problem, frozen, LINKS) for name in (*frozen, "proxy", "pcie")}
    assert len(of["noisy"].draws) == targets.HIDDEN_DRAWS
    assert of["proxy"].draws[0].transfers.delay == 0 and of["bandwidth"].draws[0].transfers.delay == 0
    assert of["latency"].draws[0].transfers.slope == 0 < of["latency"].draws[0].transfers.delay
    assert (of["pcie"].draws[0].transfers.slope, of["pcie"].draws[0].transfers.delay) == (0.01, 0.25)
    with pytest.raises(ValueError, match=r"no target 'nvlink'; the targets are proxy, .*, blocking_latency, pcie"):
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
