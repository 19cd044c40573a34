"""Splits of tables: their blocks, and the input orders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline import tables
from pipeline.blocks.corpus.split import TooFewBlocks
from pipeline.blocks.dag.topology import adjacency, count_violations
from pipeline.stages import split
from tests.analysis import synthetic

SETTINGS = {
    "sources": ["qt56"],
    "seed": 1,
    "sampler": "uniform",
    "n_instructions": 5,
    "training": 40,
    "development": 10,
    "test": 20,
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Blocks of four, five and six instructions, from two sources."""
    blocks, dags, _ = synthetic.corpus()
    lengths = 4 + np.arange(len(blocks)) % 3
    tables.write(blocks.assign(n_instructions=lengths), "blocks", tmp_path / "blocks.parquet")
    tables.write(dags.assign(n_instructions=lengths), "dags", tmp_path / "dags.parquet")
    return tmp_path / "blocks.parquet", tmp_path / "dags.parquet"


def drawn(files: tuple[Path, Path], **changed: object):  # type: ignore[no-untyped-def]
    out = files[0].parent / "splits.parquet"
    split.main(json.dumps(SETTINGS | changed), *files, out)
    return tables.read("splits", out)


def test_blocks_of_one_length_from_the_named_sources_take_part(files: tuple[Path, Path]) -> None:
    splits = drawn(files)
    assert splits["split"].value_counts().to_dict() == {"training": 40, "test": 20, "development": 10}
    assert splits["block_id"].is_unique
    blocks = tables.read("blocks", files[0]).set_index("block_id").loc[splits["block_id"]]
    assert set(blocks["n_instructions"]) == {5} and set(blocks["source"]) == {"qt56"}


def test_too_few_blocks_are_named(files: tuple[Path, Path]) -> None:
    with pytest.raises(TooFewBlocks, match=r"split\.sources"):
        drawn(files, sources=["ffprobe"])
    assert len(drawn(files, sources=["ffprobe"], training=4, development=1, test=2)) == 7


def test_input_orders_are_legal_and_the_samplers_own(files: tuple[Path, Path]) -> None:
    uniform, ready = drawn(files), drawn(files, sampler="random_ready")
    assert uniform["block_id"].equals(ready["block_id"])
    dags = tables.read("dags", files[1]).set_index("block_id").loc[uniform["block_id"]]
    precedes = adjacency(5, list(dags["before"]), list(dags["after"]))
    for splits in (uniform, ready):
        assert (count_violations(precedes, np.stack(list(splits["input_order"]))) == 0).all()
    assert not np.array_equal(np.stack(list(uniform["input_order"])), np.stack(list(ready["input_order"])))
    assert str(uniform["input_order"].tolist()) == str(drawn(files)["input_order"].tolist())
