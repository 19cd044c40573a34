"""Violations that POPOCS leaves on blocks of the corpus, by number of iterations."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from tqdm import tqdm

from learned_schedulers.section import section
from pipeline.corpus.tables import DAGS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.operator import residuals
from pipeline.operator.settings import Residuals
from pipeline.operator.tables import RESIDUALS


def main(settings: options.Settings, dags: options.Dags, out: options.Out) -> None:
    """Project random proposals onto the dependencies of real blocks and measure the remaining violations.

    A length at which no block has a dependency is left out, and a message says so.
    """
    chosen = section(Residuals, settings)
    frames = [RESIDUALS.schema.empty_table().to_pandas()]
    for n in tqdm(chosen.lengths, desc="Residuals", unit="length", file=sys.stderr):
        precedes = drawn(dags, n, chosen.blocks, chosen.seed)
        if len(precedes) < chosen.blocks:
            print(f"{dags}: {len(precedes)} blocks of {n} instructions have a dependency", file=sys.stderr)
        if len(precedes):
            frames.append(residuals.measure(precedes, chosen))
    tables.write(pd.concat(frames[1:] or frames, ignore_index=True), RESIDUALS, out)


def drawn(dags: Path, n: int, blocks: int, seed: int) -> np.ndarray:
    """Dependencies (B, n, n) bool of up to `blocks` random blocks of n instructions that have a dependency.

    Raises TableError where table `dags` is missing or damaged.
    """
    edges = tables.read(DAGS, dags, ["before", "after"], pc.field("n_instructions") == n)
    edges = edges[edges["before"].map(len) > 0]
    rows = np.random.default_rng([seed, n, 0]).permutation(len(edges))[:blocks]
    return residuals.relations(edges.iloc[np.sort(rows)], n)
