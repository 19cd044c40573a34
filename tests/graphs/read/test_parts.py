"""Parts are connected, lose no dependency, and depend on the generator alone."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from learned_schedulers.graphs.read import synthetic
from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets import exported
from pipeline.graph_sets.parts import drawn, part


def as_networkx(graph: Graph) -> nx.DiGraph:
    directed = nx.DiGraph()
    directed.add_nodes_from(range(len(graph)))
    directed.add_edges_from(zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True))
    return directed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ["layered", "erdos_renyi"])
def test_a_part_is_connected_and_keeps_every_dependency(family: str, seed: int) -> None:
    """Operations of the part depend on each other exactly as in the whole graph, over any path."""
    rng = np.random.default_rng(seed)
    graph = synthetic.draw(family, 120, rng)
    chosen = drawn(graph, 10, 40, rng)
    assert chosen is not None and 10 <= len(chosen) <= 40 and (np.diff(chosen) > 0).all()
    piece, whole = as_networkx(part(graph, chosen, "p")), as_networkx(graph)
    assert nx.is_weakly_connected(piece)
    inside = set(chosen.tolist())
    for k, i in enumerate(chosen.tolist()):
        after = {int(chosen[j]) for j in nx.descendants(piece, k)}
        assert after == {j for j in nx.descendants(whole, i) if j in inside}


def test_a_part_has_the_costs_of_its_operations() -> None:
    graph = exported.load("inception_v3", "forward")
    chosen = np.arange(40, 70)
    piece = part(graph, chosen, "p")
    assert piece.kinds == graph.kinds[40:70] and piece.layers == graph.layers[40:70] and piece.family == "inception"
    for name, values in piece.costs.items():
        assert np.array_equal(values, graph.costs[name][40:70] if name != "seconds" else values)
    assert part(graph, np.arange(len(graph)), "whole").graph_id == graph.graph_id


def test_the_same_generator_draws_the_same_part_and_a_small_graph_has_none() -> None:
    graph = exported.load("inception_v3", "forward")
    first, second = (drawn(graph, 25, 100, np.random.default_rng(3)) for _ in range(2))
    assert first is not None and np.array_equal(first, second)
    assert drawn(graph, 1000, 2000, np.random.default_rng(3)) is None
