"""Random graphs of five families: their sizes, shapes and costs, and that they are drawn from the seed."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.synthetic import FAMILIES, draw, stochastic_block


def drawn(family: str, n: int, seed: int = 0) -> Graph:
    return draw(family, n, np.random.default_rng(seed))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 50])
def test_any_size(family: str, n: int) -> None:
    for seed in range(5):
        made = drawn(family, n, seed)
        assert len(made) == n and (made.family, made.variant) == (family, "drawn")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_seed_is_all(family: str) -> None:
    assert drawn(family, 50, 1).graph_id == drawn(family, 50, 1).graph_id != drawn(family, 50, 2).graph_id


@pytest.mark.parametrize("family", FAMILIES)
def test_costs_and_density(family: str) -> None:
    """Times are U(0, 1), results U(0, 1) MB, and there are about two edges an operation."""
    made = drawn(family, 20_000)
    for values in (made.seconds, made.bytes_written / 1e6):
        assert values.min() >= 0 and values.max() <= 1
        assert values.mean() == pytest.approx(0.5, abs=0.01) and values.var() == pytest.approx(1 / 12, abs=0.004)
    assert len(made.children.targets) / len(made) == pytest.approx(2, rel=0.05)


def test_layers_read_the_layer_before_alone() -> None:
    made = drawn("layered", 400)
    depth = np.zeros(400, int)
    for source, target in zip(made.children.sources.tolist(), made.children.targets.tolist(), strict=True):
        assert depth[target] in (0, depth[source] + 1)
        depth[target] = depth[source] + 1
    assert depth.max() == 19
    assert set(np.bincount(made.children.targets, minlength=400)[depth > 0].tolist()) <= {1, 2}


def test_communities_are_joined_more_within() -> None:
    """Eight times as likely within: of the pairs, which are three times as many between communities, 8 / 11."""
    made = drawn("stochastic_block", 4_000)
    within = made.children.sources // 1000 == made.children.targets // 1000
    assert within.mean() == pytest.approx(8 / 11, abs=0.02)


def test_every_pair_of_communities_can_be_joined() -> None:
    """Over many draws of four communities of 4, every pair of the 16 operations has its edge in one, and no other."""
    pairs = {
        tuple(sorted(pair))
        for seed in range(120)
        for pair in stochastic_block(16, np.random.default_rng(seed)).tolist()
    }
    assert pairs == {(i, j) for i in range(16) for j in range(i + 1, 16)}


def test_preferential_attachment_has_hubs() -> None:
    """The most read operation has many times the readers of an even draw (Barabasi & Albert 1999)."""
    hubs = {family: np.diff(drawn(family, 5_000).children.offsets).max() for family in FAMILIES}
    assert hubs["barabasi_albert"] > 5 * hubs["erdos_renyi"]


def test_unknown_families_and_sizes_are_named() -> None:
    with pytest.raises(ValueError, match="no family of random graphs 'trees'; there are erdos_renyi"):
        draw("trees", 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="a graph of -1 operations"):
        drawn("layered", -1)
