"""Violations that POPOCS leaves on blocks of the corpus, against iterations."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis import residuals
from pipeline.config.residuals import Residuals
from pipeline.config.section import section
from pipeline.stages import options


def main(settings: options.Settings, dags: options.Dags, out: options.Out) -> None:
    """Project random proposals onto the dependencies of real blocks and measure what stays violated.

    A length without blocks that have a dependency is left out, and said.
    """
    wanted = section(Residuals, settings)
    frames = [tables.SCHEMAS["residuals"].empty_table().to_pandas()]
    for n in tqdm(wanted.lengths, desc="Residuals", unit="length", file=sys.stderr):
        precedes = drawn(dags, n, wanted.blocks, wanted.seed)
        if len(precedes) < wanted.blocks:
            print(f"{dags}: {len(precedes)} blocks of {n} instructions have a dependency", file=sys.stderr)
        if len(precedes):
            frames.append(residuals.measure(precedes, wanted))
    tables.write(pd.concat(frames[1:] or frames, ignore_index=True), "residuals", out)


def drawn(dags: Path, n: int, blocks: int, seed: int) -> np.ndarray:
    """Dependencies (B, n, n) bool of `blocks` blocks of n instructions that have one, or of all where there are fewer.

    Raises TableError where table `dags` is missing or damaged.
    """
    found = tables.read("dags", dags, ["before", "after"], pc.field("n_instructions") == n)
    found = found[found["before"].map(len) > 0]
    chosen = np.random.default_rng([seed, n, 0]).permutation(len(found))[:blocks]
    return residuals.relations(found.iloc[np.sort(chosen)], n)
