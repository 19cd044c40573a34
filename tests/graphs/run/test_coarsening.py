"""Merged operations: still a DAG, none too small, and no needless loss of parallelism."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.problems.problem import Edges, Problem
from learned_schedulers.graphs.run.coarsening import groups
from tests.graphs.problems import drawn

drawn_problems = st.builds(
    lambda seed, n, density: drawn.problem(np.random.default_rng(seed), n, 2, density),
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.sampled_from([0.0, 0.03, 0.1, 0.3, 1.0]),
)


def edges(n: int, pairs: list[tuple[int, int]]) -> Edges:
    graph = nx.DiGraph(pairs)
    rows = [sorted(graph.successors(i)) if i in graph else [] for i in range(n)]
    return Edges(
        np.cumsum([0, *map(len, rows)]).astype(np.int32), np.array([child for row in rows for child in row], np.int32)
    )


def quotient(problem: Problem, of: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(of.tolist())
    graph.add_edges_from(zip(of[problem.children.sources].tolist(), of[problem.children.targets].tolist(), strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


@settings(max_examples=300, deadline=None)
@given(drawn_problems, st.floats(0.0, 3.0))
def test_groups_form_a_dag_and_none_is_too_small(problem: Problem, least: float) -> None:
    of = groups(problem.seconds, problem.children, least)
    graph = quotient(problem, of)
    assert nx.is_directed_acyclic_graph(graph)
    assert all(before < after for before, after in graph.edges), "groups are numbered in a topological order"
    assert sorted(graph) == list(range(len(graph)))
    seconds = np.bincount(of, problem.seconds)
    assert len(seconds) == 1 or (seconds >= least * (1 - 1e-12)).all()


@settings(max_examples=100, deadline=None)
@given(drawn_problems)
def test_what_is_large_enough_stays_as_it_is(problem: Problem) -> None:
    least = float(problem.seconds.min())
    assert groups(problem.seconds, problem.children, least).tolist() == list(range(len(problem)))


@settings(max_examples=100, deadline=None)
@given(drawn_problems, st.floats(0.1, 3.0))
def test_every_merge_is_one_that_was_needed(problem: Problem, least: float) -> None:
    """Every group of several operations has a member that is too small alone."""
    of = groups(problem.seconds, problem.children, least)
    for group in range(int(of.max()) + 1):
        members = problem.seconds[of == group]
        assert len(members) == 1 or (members < least).any()


def test_a_chain_loses_nothing() -> None:
    """Two parallel chains of 20 operations stay two chains."""
    chain = [(i, i + 1) for i in range(19)]
    both = edges(40, chain + [(20 + i, 21 + i) for i, _ in chain])
    of = groups(np.ones(40), both, 4.0)
    assert set(of[:20].tolist()).isdisjoint(of[20:].tolist()) and len(set(of.tolist())) >= 6


def test_small_ones_go_to_their_only_parent() -> None:
    """0 -> 1 (small) -> 2, 3: the branches 2 and 3 stay apart, and so do the large parents of the small join 4."""
    of = groups(np.array([1.0, 0.1, 1.0, 1.0, 0.1]), edges(5, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]), 0.5)
    assert of[0] == of[1] and len({of[1], of[2], of[3]}) == 3


def test_operations_that_are_joined_to_nothing() -> None:
    of = groups(np.full(10, 0.3), edges(10, []), 1.0)
    assert (np.bincount(of) >= 4).all()
    assert groups(np.zeros(3), edges(3, [(0, 1)]), 1.0).tolist() == [0, 0, 0]
    assert groups(np.zeros(0), edges(0, []), 1.0).tolist() == []


def test_many_parents_and_many_operations_take_seconds() -> None:
    n = 20_001
    star = Edges(np.r_[np.arange(n), n - 1].astype(np.int32), np.full(n - 1, n - 1, np.int32))
    of = groups(np.ones(n), star, 100.0)
    assert (np.bincount(of) >= 100).all()
