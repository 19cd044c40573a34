"""The roofline that explains run times best, and its error by kind of operation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from benchmarks import cost_model
from pipeline.graphs.corpus.export import computes, cost_of, traced


def operations(factor: float) -> pd.DataFrame:
    """Times of a roofline of 2 us, 1e10 FLOPs and 1e9 bytes a second; those of kind `odd` are longer by the factor."""
    rng = np.random.default_rng(0)
    flops, moved = 10 ** rng.uniform(4, 9, 60), 10 ** rng.uniform(3, 8, 60)
    kinds = ["mm", "add", "odd"] * 20
    times = 2e-6 + np.maximum(flops / 1e10, moved / 1e9)
    times = times * np.where(np.array(kinds) == "odd", factor, 1.0)
    return pd.DataFrame({"kind": kinds, "count": 2, "flops": flops, "bytes": moved, "seconds": times})


def test_rates_are_found_again() -> None:
    assert cost_model.fitted(operations(1.0)) == pytest.approx([2e-6, 1e10, 1e9], rel=0.01)


def test_a_kind_that_the_roofline_gets_wrong_is_named() -> None:
    table = pd.DataFrame(cost_model.rows_of("cost_model", operations(3.0)))
    wrong = table[table["metric"] == "wrong_by_factor"].set_index("method")["value"]
    assert wrong["odd"] == pytest.approx(3, rel=0.02) and wrong["mm"] == pytest.approx(1, abs=0.02)
    ratio = table[table["metric"] == "predicted_over_measured"].set_index("method")["value"]
    assert ratio["odd"] == pytest.approx(1 / 3, rel=0.02)
    share = table[table["metric"] == "time_share"].set_index("method")["value"]
    assert share["all"] == 1 and share.drop("all").sum() == pytest.approx(1)


def test_operations_are_run_on_tensors_of_their_shapes() -> None:
    module = nn.Sequential(nn.Linear(6, 4), nn.ReLU()).to("meta")
    nodes = [n for n in traced(module, (torch.empty(3, 6, device="meta"),), "forward").nodes if computes(n)]
    assert [cost_of(node).kind for node in nodes] == ["addmm", "relu"]
    assert cost_of(nodes[0]).flops == 2 * 3 * 6 * 4
    assert all(cost_model.seconds(node, 1) > 0 for node in nodes)
    assert cost_model.drawn(nodes[0], torch.Generator()).shape == (3, 4)
