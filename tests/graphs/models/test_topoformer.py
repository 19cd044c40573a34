"""The encoder: each head sees one kind of relatives, an operation sees its relatives alone, and no head transfers."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pipeline.graphs.models.topoformer import HEADS, N_INPUTS, Topoformer, graph_view
from pipeline.graphs.models.views import N_FEATURES, view
from pipeline.graphs.problems.problem import Problem, Transfers
from tests.graphs.problems import drawn

SEEDS = st.integers(0, 2**32 - 1)


def relatives(problem: Problem) -> list[list[set[int]]]:
    """For each operation: parents, children, ancestors, descendants."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(problem)))
    graph.add_edges_from(zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True))
    kinds = [graph.predecessors, graph.successors]
    near = [[set(kind(i)) for i in range(len(problem))] for kind in kinds]
    far = [[set(kind(graph, i)) for i in range(len(problem))] for kind in (nx.ancestors, nx.descendants)]
    return [*near, *far]


@given(SEEDS, st.integers(1, 12))
def test_every_head_sees_one_kind_of_relatives_and_the_operation_itself(seed: int, n: int) -> None:
    problem = drawn.problem(np.random.default_rng(seed), n, density=0.2)
    visible = graph_view(problem).visible
    assert visible.shape == (HEADS, n, n)
    for head, of_kind in zip(visible, relatives(problem), strict=True):
        assert [set(row.nonzero()[:, 0].tolist()) for row in head] == [{i, *kin} for i, kin in enumerate(of_kind)]


@given(SEEDS)
def test_transfers_are_not_seen_and_sizes_are_seen_without_their_unit(seed: int) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 8)
    first = graph_view(problem)
    assert first.features.shape == (8, N_INPUTS) and first.features.dtype == torch.float32
    np.testing.assert_allclose(first.features[:, -1], np.log1p(problem.sizes / problem.sizes.mean()), rtol=1e-6)
    np.testing.assert_array_equal(first.features[:, :N_FEATURES], view(problem).features)
    for changed in (replace(problem, transfers=Transfers(9.0, 9.0)), replace(problem, sizes=1024 * problem.sizes)):
        torch.testing.assert_close(graph_view(changed).features, first.features)
    assert graph_view(replace(problem, sizes=np.zeros(8))).features.isfinite().all()


@pytest.mark.parametrize("seed", range(3))
def test_a_layer_reads_relatives_alone(seed: int) -> None:
    """The gradient of an operation's vector by another operation's features is 0 if they are not related."""
    torch.manual_seed(seed)
    problem = drawn.problem(np.random.default_rng(seed), 9, density=0.15)
    encoder, (features, visible) = Topoformer(8, 1), graph_view(problem)
    features = features.clone().requires_grad_(True)
    vectors = encoder(features[None], visible[None])[0]
    related = visible.any(0)
    assert not related.all() and vectors.shape == (9, 8)
    for i in range(9):
        (gradient,) = torch.autograd.grad(vectors[i].square().mul(torch.arange(8.0)).sum(), features, retain_graph=True)
        assert torch.equal(gradient.abs().sum(1) > 0, related[i])


def test_a_batch_is_its_graphs() -> None:
    torch.manual_seed(0)
    encoder = Topoformer(8, 2)
    views = [graph_view(drawn.problem(np.random.default_rng(seed), 6)) for seed in range(3)]
    features, visible = (torch.stack(part) for part in zip(*views, strict=True))
    single = torch.cat([encoder(graph.features[None], graph.visible[None]) for graph in views])
    torch.testing.assert_close(encoder(features, visible), single, atol=1e-5, rtol=1e-5)
