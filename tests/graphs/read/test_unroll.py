"""Repeated cells: by hand, against the same network traced as a whole, and up to 80,000 operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.export import graph_of_module
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.unroll import unroll, without_states
from pipeline.graph_sets import exported
from pipeline.graph_sets.modules.rnnlm import RNNLM, RNNLMStep


def cell() -> Graph:
    """add (reads the state) -> tanh (writes it) -> mm."""
    kinds = ["carried_in", "add", "tanh", "mm", "carried_out"]
    numbers = np.arange(5)
    listed = Operations(kinds, 1.0 * numbers, numbers, numbers, numbers, layers=["0", "", "", "", "0"])
    return graph("mine", "cells", "cell", listed, np.array([0, 1, 2, 2]), np.array([1, 2, 3, 4]))[0]


def test_by_hand() -> None:
    bare, edges = without_states(cell())
    assert (bare.kinds, edges.tolist()) == (("add", "tanh", "mm"), [[1, 0]])
    long = unroll(bare, edges, 3)
    assert long.kinds == bare.kinds * 3
    pairs = set(zip(long.children.sources.tolist(), long.children.targets.tolist(), strict=True))
    assert pairs == {(0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (4, 6), (6, 7), (7, 8)}
    assert long.bytes_kept.tolist() == [1, 2, 3, 0, 0, 0, 0, 0, 0]
    assert long.bytes_written.tolist() == [1, 2, 3] * 3


def test_faults() -> None:
    bare, edges = without_states(cell())
    with pytest.raises(ValueError, match="0 steps of graph mine"):
        unroll(bare, edges, 0)
    with pytest.raises(ValueError, match="graph mine: state 0 does not enter the cell once and leave it once"):
        without_states(replace(cell(), layers=("0", "", "", "", "1")))
    through = graph(
        "mine",
        "cells",
        "cell",
        Operations(["carried_in", "carried_out"], np.zeros(2), *[np.zeros(2, np.int64)] * 3, layers=["0", "0"]),
        np.array([0]),
        np.array([1]),
    )[0]
    with pytest.raises(ValueError, match="graph mine: state 0 passes through the cell"):
        without_states(through)


def test_as_the_whole_network_traced_at_once() -> None:
    """A language model of 2 layers and 5 tokens has the same work, kinds, longest path and, but for stacking, edges."""
    steps, layers = 5, 2
    with torch.device("meta"):
        states = tuple(torch.empty(3, 8) for _ in range(2 * layers))
        tokens = torch.empty(3, steps, dtype=torch.long)
        cell = graph_of_module(RNNLMStep(layers, 8, 16), (tokens[:, 0], *states), "rnnlm", "rnnlm", "cell", len(states))
        whole = graph_of_module(RNNLM(RNNLMStep(layers, 8, 16)), (tokens, *states), "rnnlm", "rnnlm", "forward")
    long = unroll(*without_states(cell), steps)
    stacked = whole.kinds.index("stack") if "stack" in whole.kinds else whole.kinds.index("cat", len(whole) - 1)
    assert stacked == len(whole) - 1
    assert sorted(long.kinds) == sorted(whole.kinds[:-1])
    assert long.flops.sum() == whole.flops.sum() and long.bytes_kept.sum() == whole.bytes_kept.sum()
    inner = whole.children.targets < stacked
    assert len(long.children.targets) == inner.sum()

    def depth(graph: Graph) -> float:
        return Problem(np.ones(len(graph)), graph.bytes_written.astype(float), graph.children, 1).critical_path

    assert depth(whole) == depth(long) + 1


def test_eighty_thousand_operations() -> None:
    long = exported.long("rnnlm_8", 80_000)
    cell_length = len(without_states(exported.load("rnnlm_8", "cell"))[0])
    assert 80_000 <= len(long) < 80_000 + cell_length
    assert len(long.children.targets) < 2 * len(long)
    assert long.bytes_kept.sum() == exported.load("rnnlm_8", "forward").bytes_kept.sum()
