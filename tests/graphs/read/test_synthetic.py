"""Random graphs of five families: sizes, shapes and costs; the seed decides them."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.synthetic import FAMILIES, draw, stochastic_block


def drawn(family: str, n: int, seed: int = 0) -> Graph:
    return draw(family, n, np.random.default_rng(seed))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 50])
def test_any_size(family: str, n: int) -> None:
    for seed in range(5):
        graph = drawn(family, n, seed)
        assert len(graph) == n and (graph.family, graph.variant) == (family, "drawn")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_seed_is_all(family: str) -> None:
    assert drawn(family, 50, 1).graph_id == drawn(family, 50, 1).graph_id != drawn(family, 50, 2).graph_id


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_costs_and_density(family: str) -> None:
    """Times are U(0, 1), results U(0, 1) MB, and there are about two edges per operation."""
    graph = drawn(family, 20_000)
    for values in (graph.seconds, graph.bytes_written / 1e6):
        assert values.min() >= 0 and values.max() <= 1
        assert values.mean() == pytest.approx(0.5, abs=0.01) and values.var() == pytest.approx(1 / 12, abs=0.004)
    assert len(graph.children.targets) / len(graph) == pytest.approx(2, rel=0.05)


def test_layers_read_the_layer_before_alone() -> None:
    graph = drawn("layered", 400)
    depth = np.zeros(400, int)
    for source, target in zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True):
        assert depth[target] in (0, depth[source] + 1)
        depth[target] = depth[source] + 1
    assert depth.max() == 19
    assert set(np.bincount(graph.children.targets, minlength=400)[depth > 0].tolist()) <= {1, 2}


def test_communities_are_joined_more_within() -> None:
    """Edges within communities are eight times as likely, and there are three times as many pairs between: 8 / 11."""
    graph = drawn("stochastic_block", 4_000)
    within = graph.children.sources // 1000 == graph.children.targets // 1000
    assert within.mean() == pytest.approx(8 / 11, abs=0.02)


def test_every_pair_of_communities_can_be_joined() -> None:
    """Over many draws of four communities of 4, exactly the pairs of the 16 operations occur as edges."""
    pairs = {
        tuple(sorted(pair))
        for seed in range(120)
        for pair in stochastic_block(16, np.random.default_rng(seed)).tolist()
    }
    assert pairs == {(i, j) for i in range(16) for j in range(i + 1, 16)}


def test_preferential_attachment_has_hubs() -> None:
    """The most read operation has many times the readers of a uniform draw (Barabasi & Albert 1999)."""
    hubs = {family: np.diff(drawn(family, 5_000).children.offsets).max() for family in FAMILIES}
    assert hubs["barabasi_albert"] > 5 * hubs["erdos_renyi"]


def test_unknown_families_and_sizes_are_named() -> None:
    with pytest.raises(ValueError, match="no family of random graphs 'trees'; the families are erdos_renyi"):
        draw("trees", 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="a graph of -1 operations"):
        drawn("layered", -1)
