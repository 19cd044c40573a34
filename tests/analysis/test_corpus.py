"""The table of the corpus, compared with counts by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from learned_schedulers.blocks.dag.dependencies import Kind
from pipeline.corpus import composition as corpus
from pipeline.corpus.stages import describe
from pipeline.corpus.tables import CORPUS
from pipeline.lab import chapters, tables
from tests.analysis import synthetic

RAW, WAR = int(Kind.REGISTER_RAW), int(Kind.MEMORY_WAR)


def small() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three blocks of two programs and two sources."""
    blocks, dags = synthetic.corpus(3)
    blocks = blocks.assign(source=["a", "a", "b"], program=["p", "q", "p"], occurrences=[1, 10, 100])
    dags = dags.assign(
        n_instructions=[2, 3, 3],
        before=[[0], [], [0, 1]],
        after=[[1], [], [1, 2]],
        kinds=[[RAW | WAR], [], [RAW, RAW]],
        implied_before=[[], [], [0]],
        implied_after=[[], [], [2]],
        implied_kinds=[[], [], [WAR]],
        n_legal_orders=[1.0, 6, 1],
        orders_exact=[True, False, True],
        latencies=[[1] * 2, [1] * 3, [1] * 3],
    )
    return blocks, dags


def described(size: int) -> pd.Series:
    table = corpus.describe(synthetic.pieces(*small(), size))
    return table.set_index(["source", "program", "statistic", "bin"])["value"]


def test_counts_by_hand() -> None:
    statistics = described(3)
    every = ("", "")
    assert statistics[(*every, "blocks", "")] == 3 and statistics[("a", "", "blocks", "")] == 2
    assert statistics[(*every, "occurrences", "")] == 111 and statistics[("a", "q", "occurrences", "")] == 10
    assert statistics[(*every, "instructions", "")] == 8
    assert statistics[(*every, "length", "3")] == 2 and statistics[(*every, "length", "2")] == 1
    assert statistics[(*every, "log10_orders", "0")] == 3
    assert statistics[(*every, "single_order", "")] == 2 and ("a", "q", "single_order", "") not in statistics
    assert statistics[(*every, "inexact_orders", "")] == 1
    assert statistics[(*every, "reduction_edges", "")] == 3 and statistics[(*every, "direct_conflicts", "")] == 4
    assert statistics[(*every, "reduction_edges", "register RAW")] == 3
    assert statistics[(*every, "reduction_edges", "memory WAR")] == 1
    assert statistics[(*every, "direct_conflicts", "memory WAR")] == 2
    assert statistics[("b", "p", "direct_conflicts", "memory WAR")] == 1
    assert statistics[(*every, "ready_blocks", "3")] == 1


@pytest.mark.parametrize("size", [1, 2])
def test_pieces_do_not_show(size: int) -> None:
    pd.testing.assert_series_equal(described(size), described(3))


@pytest.mark.parametrize(("orders", "decade"), [(9.0, "0"), (10.0, "1"), (1000.0, "3"), (999_999.0, "5"), (1e23, "23")])
def test_decades_of_orders(orders: float, decade: str) -> None:
    blocks, dags = small()
    table = corpus.describe(synthetic.pieces(blocks[:1], dags[:1].assign(n_legal_orders=orders)))
    statistics = table[(table["statistic"] == "log10_orders") & (table["source"] == "")]
    assert statistics["bin"].tolist() == [decade]


def test_sums_over_programs_are_the_sources() -> None:
    blocks, dags = synthetic.corpus()
    table = corpus.describe(synthetic.pieces(blocks, dags))
    tables.pa.Table.from_pandas(table, schema=CORPUS.schema)
    table = table[~table["statistic"].str.startswith("ready_")]
    programs, sources = table[table["program"] != ""], table[(table["program"] == "") & (table["source"] != "")]
    keys = ["source", "statistic", "bin"]
    pd.testing.assert_series_equal(programs.groupby(keys)["value"].sum(), sources.groupby(keys)["value"].sum())
    every = table[table["source"] == ""].set_index(["statistic", "bin"])["value"].sort_index()
    pd.testing.assert_series_equal(sources.groupby(["statistic", "bin"])["value"].sum(), every)


def test_tables_of_other_blocks_are_refused(tmp_path: Path) -> None:
    blocks, dags = small()
    with pytest.raises(ValueError, match="hold different blocks"):
        corpus.describe(synthetic.pieces(blocks, dags[::-1]))
    for name, frames in (("blocks", [blocks]), ("dags", [dags[:1], dags[1:]])):
        with tables.writing(chapters.tables()[name], tmp_path / name) as append:
            for frame in frames:
                append(pa.Table.from_pandas(frame, chapters.tables()[name].schema, preserve_index=False))
    with pytest.raises(ValueError, match=r"dags and .*blocks hold different blocks"):
        describe.main(tmp_path / "blocks", tmp_path / "dags", tmp_path / "out.parquet")
