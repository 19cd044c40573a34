"""What is seen of a graph has no unit, and does not depend on how operations are numbered."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.graphs.models.views import (
    ANCESTOR,
    CHILD,
    DESCENDANT,
    ITSELF,
    N_FEATURES,
    PARENT,
    UNRELATED,
    batch,
    bumps,
    priority_places,
    view,
)
from pipeline.graphs.problems.problem import Edges, Problem
from tests.graphs.models.small_jobs import problem, renumbered
from tests.graphs.problems import drawn

NO_EDGES = Edges(np.zeros(3, np.int32), np.zeros(0, np.int32))


@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
@settings(max_examples=50, deadline=None)
def test_another_numbering_permutes_the_rows(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    original = problem(rng, n)
    order = drawn.schedules(original, rng, 1)[0][0]
    before, after = view(original), view(renumbered(original, order))
    np.testing.assert_allclose(after.features, before.features[order], atol=1e-6)
    np.testing.assert_array_equal(after.relations, before.relations[np.ix_(order, order)])
    np.testing.assert_array_equal(after.precedes, before.precedes[np.ix_(order, order)])


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
@settings(max_examples=30, deadline=None)
def test_another_unit_of_time_changes_nothing(seed: int, unit: float) -> None:
    original = problem(np.random.default_rng(seed), 20)
    before, after = view(original), view(replace(original, seconds=original.seconds * unit))
    np.testing.assert_allclose(after.features, before.features, atol=1e-5)


def test_relations_are_those_of_networkx() -> None:
    for seed in range(20):
        job = problem(np.random.default_rng(seed), 15)
        graph = nx.DiGraph(zip(job.children.sources.tolist(), job.children.targets.tolist(), strict=True))
        graph.add_nodes_from(range(15))
        relations = view(job).relations
        for i in range(15):
            for k in range(15):
                if i == k:
                    expected = ITSELF
                elif graph.has_edge(i, k):
                    expected = CHILD
                elif graph.has_edge(k, i):
                    expected = PARENT
                elif nx.has_path(graph, i, k):
                    expected = DESCENDANT
                else:
                    expected = ANCESTOR if nx.has_path(graph, k, i) else UNRELATED
                assert relations[i, k] == expected


def test_equal_operations_share_a_place() -> None:
    equal = Problem(np.ones(2), np.ones(2), NO_EDGES, 2)
    assert priority_places(equal).tolist() == [0.5, 0.5]
    assert priority_places(replace(equal, seconds=np.array([1.0, 2.0]))).tolist() == [0.75, 0.25]


def test_operations_that_take_no_time_are_seen_without_a_fault() -> None:
    features = view(Problem(np.zeros(2), np.zeros(2), NO_EDGES, 2)).features
    assert features.shape == (2, N_FEATURES) and np.isfinite(features).all()


def test_a_batch_is_its_graphs() -> None:
    rng = np.random.default_rng(0)
    views = [view(problem(rng, 9)) for _ in range(3)]
    together = batch(views)
    for b, single in enumerate(views):
        alone = batch([single])
        np.testing.assert_array_equal(together.features[b], alone.features[0])
        np.testing.assert_array_equal(together.relations[b], alone.relations[0])
        np.testing.assert_array_equal(together.orders.take(np.array([b])).support(), alone.orders.support())


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_bumps_are_highest_where_the_place_is(place: float) -> None:
    heights = bumps(np.array(place))
    assert heights.argmax() == min(int(place * len(heights)), len(heights) - 1) and heights.max() <= 1
