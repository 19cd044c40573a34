"""Scheduling one's own blocks: legal, complete, and clear about what is no block."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from pipeline.blocks.corpus import assembly
from pipeline.blocks.dag.dependencies import block_dag
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.command import order as reorder
from tests.blocks.models import imitated

CODES = ["4883c0014889e5488b0d1000000048ffc1", "31c04801d8", "90", "31c04801d8"]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    _, encodings, _ = imitated.corpus(5)
    OrderingNetwork(Vocabulary(encodings.tokens), imitated.settings()).save(tmp_path / "weights.safetensors")
    return tmp_path / "weights.safetensors"


def test_every_line_has_its_row(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("\n".join([f"{CODES[0]},249.0", "zz", *CODES[1:], "c3"]) + "\n")
    reorder.main(tmp_path / "mine.csv", tmp_path / "out.csv", weights)
    found = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert list(found.line) == ["1", "2", "3", "4", "5", "6"]
    assert list(found.status) == ["ok", "bad", "ok", "ok", "ok", "bad"]  # equal blocks are not one
    assert "not hexadecimal" in found.message[1]
    assert "transfers control" in found.message[5]
    good = found[found.status == "ok"]
    assert list(good.hex) == CODES
    for row in good.itertuples():
        order = [int(i) for i in row.order.split()]
        before, after = assembly.split(bytes.fromhex(row.hex)), assembly.split(bytes.fromhex(row.ordered_hex))
        assert [len(before[i]) for i in order] == [len(piece) for piece in after]
        for i, k, _ in block_dag(bytes.fromhex(row.hex), "full", addresses_known=False).edges:
            assert order.index(i) < order.index(k)
        assert 0 < float(row.confidence) <= 1


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(CODES[1])
    (tmp_path / "weights.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is no file of weights"):
        reorder.main(tmp_path / "mine.csv", tmp_path / "out.csv", tmp_path / "weights.safetensors")
