"""The encoder: what it sees has no unit and no numbering, each head sees one kind of relatives, and none transfers."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.models.topoformer import HEADS, N_INPUTS, Topoformer, bumps, graph_view, priority_places
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

SEEDS = st.integers(0, 2**32 - 1)
NO_EDGES = Edges(np.zeros(3, np.int32), np.zeros(0, np.int32))


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


@given(SEEDS, st.integers(1, 25))
@settings(max_examples=50, deadline=None)
def test_another_numbering_permutes_the_rows(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    original = drawn.problem(rng, n, density=0.3)
    order = drawn.schedules(original, rng, 1)[0][0]
    before, after = graph_view(original), graph_view(drawn.renumbered(original, order))
    torch.testing.assert_close(after.features, before.features[order], atol=1e-6, rtol=1e-6)
    assert torch.equal(after.visible, before.visible[:, order][:, :, order])


@given(SEEDS, st.floats(1e-6, 1e6))
@settings(max_examples=30, deadline=None)
def test_no_unit_and_no_transfer_is_seen(seed: int, unit: float) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 8)
    first = graph_view(problem)
    assert first.features.shape == (8, N_INPUTS) and first.features.dtype == torch.float32
    np.testing.assert_allclose(first.features[:, -1], np.log1p(problem.sizes / problem.sizes.mean()), rtol=1e-6)
    other_units = replace(problem, seconds=unit * problem.seconds, sizes=1024 * problem.sizes)
    for changed in (replace(problem, transfers=Transfers(9.0, 9.0)), other_units):
        torch.testing.assert_close(graph_view(changed).features, first.features, atol=1e-5, rtol=1e-5)


def test_operations_that_take_no_time_are_seen_without_a_fault() -> None:
    features = graph_view(Problem(np.zeros(2), np.zeros(2), NO_EDGES, 2)).features
    assert features.shape == (2, N_INPUTS) and features.isfinite().all()


def test_equal_operations_share_a_place() -> None:
    equal = Problem(np.ones(2), np.ones(2), NO_EDGES, 2)
    assert priority_places(equal).tolist() == [0.5, 0.5]
    assert priority_places(replace(equal, seconds=np.array([1.0, 2.0]))).tolist() == [0.75, 0.25]


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_bumps_are_highest_where_the_place_is(place: float) -> None:
    heights = bumps(np.array(place))
    assert heights.argmax() == min(int(place * len(heights)), len(heights) - 1) and heights.max() <= 1


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
