"""The operator's benchmark: its DAGs, its measuring, its failures; no peer is needed."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.operator import peers
from benchmarks.operator.cases import Case, apart, measured
from benchmarks.operator.dags import corpus_dags, random_dags
from learned_schedulers.operators.orders import partial_orders
from learned_schedulers.operators.popocs import popocs
from pipeline.corpus.tables import DAGS
from pipeline.lab import tables
from pipeline.operator.tables import PEERS
from tests.analysis import synthetic


def test_blocks_of_the_corpus_are_repeated_where_there_are_few(tmp_path: Path) -> None:
    _, dags = synthetic.corpus(10)
    tables.write(dags, DAGS, tmp_path / "dags.parquet")
    repeated = corpus_dags(tmp_path / "dags.parquet", 5, 25)
    assert repeated.shape == (25, 5, 5) and (repeated[:10] == repeated[10:20]).all()
    with pytest.raises(ValueError, match="no block of 9 instructions"):
        corpus_dags(tmp_path / "dags.parquet", 9, 25)
    with pytest.raises(FileNotFoundError, match="make reproduce"):
        corpus_dags(tmp_path / "nothing.parquet", 5, 25)


def test_the_loop_in_pytorch_is_the_operators_cyclic_method() -> None:
    rng = np.random.default_rng(1)
    orders = partial_orders(random_dags(6, 7, rng))
    proposal = torch.from_numpy(rng.random((6, 7, 7)))
    projected = peers.cyclic_loop(15)(orders)(proposal.float())
    torch.testing.assert_close(projected, popocs(proposal.float(), orders, method="cyclic", iterations=15))


@pytest.mark.e2e
def test_a_case_has_all_figures_and_the_loop_runs_until_its_median_is_there() -> None:
    precedes = np.zeros((4, 5, 5), bool)
    precedes[:, 0, 1] = True
    for peer in ("extrapolated", "cyclic_loop"):
        case = Case(peer, "random", precedes)
        row = case.names | measured(case)
        assert set(row) == set(PEERS.schema.names) - {"reason"}
        assert row["items"] == 4 and row["seconds_per_batch"] > 0 and row["peak_memory_mb"] >= 0
        assert row["residual_median"] <= peers.GOAL
    assert row["iterations"] >= 20


@pytest.mark.e2e  # starts Python anew
def test_a_peer_that_fails_is_a_row_with_its_reason() -> None:
    row = apart(Case("a peer of tomorrow", "random", random_dags(2, 4, np.random.default_rng(3))))
    assert row["reason"] == "KeyError: 'a peer of tomorrow'" and "seconds_per_batch" not in row
    assert "not done after" in apart(Case("cyclic", "random", np.zeros((2, 4, 4), bool)), patience=0.0)["reason"]
