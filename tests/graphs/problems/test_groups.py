"""Random groups: connected parts of the graph, from single operations to whole components."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.problems.groups import drawn_groups
from tests.graphs.problems import drawn


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(0, 0.4))
def test_groups_hang_together_and_are_numbered_from_zero(seed: int, n: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, 3, density)
    together = rng.integers(0, 3, n)
    labels, counts = drawn_groups(problem.children, together, np.array([0.0, 1.0, 0.5]), rng)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    edges = zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True)
    graph.add_edges_from((i, j) for i, j in edges if together[i] == together[j])
    assert labels[0].tolist() == list(range(n))
    assert {frozenset(np.flatnonzero(labels[1] == k).tolist()) for k in range(counts[1])} == {
        frozenset(component) for component in nx.connected_components(graph)
    }
    for s in range(3):
        assert sorted(set(labels[s].tolist())) == list(range(counts[s]))
        for k in range(counts[s]):
            members = np.flatnonzero(labels[s] == k)
            assert nx.is_connected(graph.subgraph(members.tolist()))
            assert len(set(together[members].tolist())) == 1
