"""Statistics of blocks, table `corpus`, from tables `blocks` and `dags`: per program, per source and in all.

A statistic counts unique blocks, unless noted otherwise; its `bin` is in brackets:

- `blocks`, `occurrences` (equal blocks before they were merged), `instructions` (of unique blocks)
- `length` [instructions]
- `log10_orders` [floor of log10 of the number of legal orders], `single_order`, `inexact_orders` (lower bounds)
- `reduction_edges`, `direct_conflicts`: pairs of instructions, all and [kind]; a pair can be of several kinds
- of all sources, [instructions]: distance of `random_ready` from uniform (uniformity.py): `ready_blocks`,
  `ready_dags`, `ready_mean`, `ready_median`, `ready_largest` (total variation), `ready_divergence` (nats)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pyarrow as pa

from learned_schedulers.blocks.dag.dependencies import Kind
from pipeline.corpus.tables import CORPUS
from pipeline.corpus.uniformity import Tally

BLOCKS = ["block_id", "source", "program", "n_instructions", "occurrences"]  # columns of `blocks`
DAGS = [
    "block_id", "n_instructions", "before", "after", "kinds", "implied_kinds", "n_legal_orders", "orders_exact",
]  # fmt: skip
LONGEST_ENUMERATED = 10  # instructions; DAGs up to this length are compared with uniform

_Counts = dict[tuple[str, str], dict[tuple[str, str], float]]  # (source, program) -> (statistic, bin) -> count


def describe(pieces: Iterable[tuple[pa.Table, pa.Table]]) -> pd.DataFrame:
    """Table `corpus` from pieces of tables `blocks` and `dags`, the same blocks in the same order; one piece at a time.

    Raises ValueError where the blocks of a piece differ.
    """
    counts: _Counts = defaultdict(lambda: defaultdict(float))
    tally = Tally(LONGEST_ENUMERATED)
    for blocks, dags in pieces:
        if not blocks["block_id"].combine_chunks().equals(dags["block_id"].combine_chunks()):
            raise ValueError("the tables blocks and dags hold different blocks; make the DAGs anew")
        _count(blocks, dags, counts)
        offsets, before = _ragged(dags["before"])
        tally.add(dags["n_instructions"].to_numpy(), offsets, before, _ragged(dags["after"])[1])
    rows = [
        (source, program, statistic, place, value)
        for (source, program), of_program in _with_sums(counts).items()
        for (statistic, place), value in of_program.items()
    ]
    for length, spread in tally.spreads().items():
        rows += [("", "", f"ready_{name}", str(length), value) for name, value in spread._asdict().items()]
    table = pd.DataFrame(rows, columns=CORPUS.schema.names)
    number = pd.to_numeric(table["bin"], errors="coerce")
    keys = [table["source"], table["program"], table["statistic"], number.fillna(-1), table["bin"]]
    return table.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def _ragged(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (B + 1,) and values of a column of lists."""
    lists = column.combine_chunks()
    return lists.offsets.to_numpy() - lists.offsets[0].as_py(), lists.flatten().to_numpy()


def _count(blocks: pa.Table, dags: pa.Table, counts: _Counts) -> None:
    """Add a piece's blocks to the counts of their programs."""
    keys = pd.MultiIndex.from_arrays([blocks["source"].to_pandas(), blocks["program"].to_pandas()])
    of_block, programs = pd.factorize(keys)

    def add(statistic: str, weights: np.ndarray, places: np.ndarray | None = None) -> None:
        bins = np.zeros(len(of_block), np.int64) if places is None else places.astype(np.int64)
        width = int(bins.max(initial=0)) + 1
        sums = np.bincount(of_block * width + bins, weights, len(programs) * width).reshape(-1, width)
        for row, place in zip(*sums.nonzero(), strict=True):
            counts[programs[row]][statistic, "" if places is None else str(place)] += float(sums[row, place])

    lengths = dags["n_instructions"].to_numpy()
    orders = dags["n_legal_orders"].to_numpy()
    each = np.ones(len(lengths))
    add("blocks", each)
    add("occurrences", blocks["occurrences"].to_numpy())
    add("instructions", lengths)
    add("length", each, lengths)
    add("log10_orders", each, np.floor(np.log10(orders) + 1e-12))
    add("single_order", orders == 1)
    add("inexact_orders", ~dags["orders_exact"].to_numpy())
    reduced, implied = (_by_kind(dags[name]) for name in ("kinds", "implied_kinds"))
    for statistic, pairs in (("reduction_edges", reduced), ("direct_conflicts", reduced + implied)):
        add(statistic, pairs[0])
        for row, kind in enumerate(Kind, 1):
            for program, total in enumerate(np.bincount(of_block, pairs[row], len(programs))):
                if total:
                    counts[programs[program]][statistic, words(kind)] += total


def _by_kind(column: pa.ChunkedArray) -> np.ndarray:
    """(1 + kinds, B): pairs of each block, all and of each kind."""
    offsets, kinds = _ragged(column)
    block = np.repeat(np.arange(len(column)), np.diff(offsets))
    weights = [np.ones(len(kinds)), *((kinds & kind) > 0 for kind in map(int, Kind))]
    return np.stack([np.bincount(block, weight, len(column)) for weight in weights])


def words(kind: Kind) -> str:
    """`register RAW` and so on."""
    place, hazard = str(kind.name).split("_")
    return f"{place.lower()} {hazard}"


def _with_sums(counts: _Counts) -> _Counts:
    """The counts of the programs, and their sums per source and in all."""
    every: _Counts = defaultdict(lambda: defaultdict(float))
    for (source, program), of_program in counts.items():
        for place in ((source, program), (source, ""), ("", "")):
            for statistic, value in of_program.items():
                every[place][statistic] += value
    return every
