"""The corpus of this run: its statistics, compilers, splits and skipped files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.corpus.tables import BLOCKS, CORPUS, DAGS, SKIPPED, SPLITS
from pipeline.lab import digests, places, tables
from pipeline.lab.page.prepared import Files, Prepared
from pipeline.lab.stages.gather import gather


def prepared(files: Files, params: Mapping[str, Any]) -> Prepared:
    """Tables `corpus`, `corpus_sources`, `skipped` and `corpus_splits`, and digests of the splits."""
    of_splits = {
        places.place(path, "splits")["dependencies"]: digests.of_file(path) for path in sorted(files["splits"])
    }
    statistics = gather(CORPUS, files["corpus"])
    return Prepared(
        tables={
            "corpus": statistics,
            "corpus_sources": sources(statistics, _compilers(files["blocks"])),
            "skipped": pd.concat([tables.read(SKIPPED, path) for path in files["skipped"]]),
            "corpus_splits": splits(_legal_orders(files["splits"], files["dags"])),
        },
        fingerprints={f"splits, dependencies `{name}`": digest for name, digest in of_splits.items()},
    )


def sources(statistics: pd.DataFrame, compilers: pd.DataFrame) -> pd.DataFrame:
    """A row for each source of table `corpus`, and one for all: its compilers and numbers, some of them per block."""
    of_programs = (statistics["bin"] == "") & (statistics["program"] != "") & (statistics["dependencies"] == "full")
    wide = statistics[of_programs].pivot(index=["source", "program"], columns="statistic", values="value")
    wide = wide.assign(programs=1).groupby("source").sum()
    wide = pd.concat([wide, wide.sum().to_frame("all").T]).rename_axis("source") if len(wide) > 1 else wide
    names = compilers.groupby("source")["compiler"].agg(lambda every: sorted({*"; ".join(every).split("; ")}))
    texts = names.map(lambda every: every[0] + (f" and {len(every) - 1} more" if every[1:] else ""))
    return wide.assign(
        compiler=texts.reindex(wide.index, fill_value=""),
        per_block=wide["instructions"] / wide["blocks"],
        edges=wide["reduction_edges"] / wide["blocks"],
        single=wide["single_order"] / wide["blocks"],
        exact=1 - wide["inexact_orders"] / wide["blocks"],
    ).reset_index()


def splits(blocks: pd.DataFrame) -> pd.DataFrame:
    """A row for each split of `_legal_orders`; `chance`: the probability that a uniform legal order is GCC's."""
    n = blocks["n_legal_orders"]
    groups = blocks.assign(several=n > 1, orders=n, chance=1 / n).groupby(["dependencies", "split"])
    return groups[["several", "orders", "chance"]].mean().assign(blocks=groups.size()).reset_index()


def _legal_orders(splits: list[Path], dags: list[Path]) -> pd.DataFrame:
    """Columns `dependencies`, `split` and `n_legal_orders` of each block of a split."""
    of_split = gather(SPLITS, splits, ["block_id", "split"])
    orders = gather(DAGS, dags, ["block_id", "n_legal_orders"], tables.of_blocks(of_split["block_id"]))
    return orders.merge(of_split, on=["dependencies", "block_id"])


def _compilers(blocks: list[Path]) -> pd.DataFrame:
    """Each source with each of its compilers once; one row group in memory at a time."""
    every = [tables.RowGroups(BLOCKS, path, ["source", "compiler"], ["source", "compiler"]) for path in blocks]
    pairs = [groups[number].to_pandas().drop_duplicates() for groups in every for number in range(len(groups))]
    return pd.concat([frame.astype(str) for frame in pairs]).drop_duplicates()
