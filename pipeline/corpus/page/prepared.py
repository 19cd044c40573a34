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
    """Tables `corpus`, `compilers`, `skipped` and `splits`, and digests of the splits."""
    of_splits = {
        places.place(path, "splits")["dependencies"]: digests.of_file(path) for path in sorted(files["splits"])
    }
    return Prepared(
        tables={
            "corpus": gather(CORPUS, files["corpus"]),
            "compilers": _compilers(files["blocks"]),
            "skipped": pd.concat([tables.read(SKIPPED, path) for path in files["skipped"]]),
            "splits": _legal_orders(files["splits"], files["dags"]),
        },
        fingerprints={f"splits, dependencies `{name}`": digest for name, digest in of_splits.items()},
    )


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
