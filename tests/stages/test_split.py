"""Splits of tables: their blocks, and the input orders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from learned_schedulers.blocks.dag.topology import adjacency, count_violations
from pipeline.corpus import split as split_blocks
from pipeline.corpus.split import TooFewBlocks
from pipeline.corpus.stages import split
from pipeline.corpus.tables import BLOCKS, DAGS, SPLITS
from pipeline.lab import chapters, tables
from pipeline.lab.config.sets import Split
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
    blocks, dags = synthetic.corpus()
    lengths = 4 + np.arange(len(blocks)) % 3
    tables.write(blocks.assign(n_instructions=lengths), BLOCKS, tmp_path / "blocks.parquet")
    tables.write(dags.assign(n_instructions=lengths), DAGS, tmp_path / "dags.parquet")
    return tmp_path / "blocks.parquet", tmp_path / "dags.parquet"


def drawn(files: tuple[Path, Path], **changed: object):  # type: ignore[no-untyped-def]
    out = files[0].parent / "splits.parquet"
    split.main(json.dumps(SETTINGS | changed), *files, out)
    return tables.read(SPLITS, out)


def test_too_few_blocks_are_named(files: tuple[Path, Path]) -> None:
    with pytest.raises(TooFewBlocks, match=r"split\.sources"):
        drawn(files, sources=["ffprobe"])
    assert len(drawn(files, sources=["ffprobe"], training=4, development=1, test=2)) == 7


def test_input_orders_are_legal_and_the_samplers_own(files: tuple[Path, Path]) -> None:
    uniform, ready = drawn(files), drawn(files, sampler="random_ready")
    assert uniform["block_id"].equals(ready["block_id"])
    dags = tables.read(DAGS, files[1]).set_index("block_id").loc[uniform["block_id"]]
    precedes = adjacency(5, list(dags["before"]), list(dags["after"]))
    for splits in (uniform, ready):
        assert (count_violations(precedes, np.stack(list(splits["input_order"]))) == 0).all()
    assert not np.array_equal(np.stack(list(uniform["input_order"])), np.stack(list(ready["input_order"])))
    assert str(uniform["input_order"].tolist()) == str(drawn(files)["input_order"].tolist())


def test_row_groups_and_the_sequence_of_blocks_change_nothing(files: tuple[Path, Path]) -> None:
    whole = drawn(files)
    for name, path in zip(("blocks", "dags"), files, strict=True):
        table = tables.arrow(chapters.tables()[name], path)
        backwards = table.take(list(range(table.num_rows))[::-1]).combine_chunks()
        with tables.writing(chapters.tables()[name], path) as append:
            for low in range(0, table.num_rows, 7):
                append(backwards.slice(low, 7))
    again = drawn(files)
    assert whole["block_id"].equals(again["block_id"])
    assert str(whole["input_order"].tolist()) == str(again["input_order"].tolist())


def test_the_draw_is_that_of_shuffled_ids() -> None:
    """The splits of published experiments were drawn so."""
    ids = [f"{number * 7919 % 1000:032x}" for number in range(1000)]
    settings = Split.model_validate(SETTINGS)
    shuffled = np.random.default_rng(settings.seed).permutation(sorted(ids))
    splits = split_blocks.draw(pa.array(ids, pa.string()), settings)
    assert splits == {
        "test": sorted(shuffled[:20]), "development": sorted(shuffled[20:30]), "training": sorted(shuffled[30:70]),
    }  # fmt: skip
