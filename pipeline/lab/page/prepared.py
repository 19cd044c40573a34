"""What pages read of this run beside results, parts and trainings: each chapter prepares its own tables.

A page declares kinds of files (`Page.fresh`); `prepared(files, params)` in the module `prepared.py` beside it gets the
files of each kind, and the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline.lab import chapters, tidy

Files = Mapping[str, list[Path]]  # kind (places.py) -> files


class Curve(NamedTuple):
    """Curves of a table for `dvc plots show`: one for each experiment, kind of dependencies and value of `by`."""

    table: str
    by: tuple[str, ...]
    axis: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Prepared:
    """Tables by name, further rows of table `results`, curves, and SHA-256 of data by what it is."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    results: tuple[pd.DataFrame, ...] = ()
    curves: tuple[Curve, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)


def of_chapters(files: Files, params: Mapping[str, Any]) -> Prepared:
    """All that the chapters prepare."""
    every = [module.prepared(files, params) for module in chapters.modules("prepared")]
    return Prepared(
        {name: frame for each in every for name, frame in each.tables.items()},
        tuple(rows for each in every for rows in each.results),
        tuple(curve for each in every for curve in each.curves),
        {name: digest for each in every for name, digest in each.fingerprints.items()},
    )


def curves(frames: Mapping[str, pd.DataFrame], declared: tuple[Curve, ...]) -> dict[str, str]:
    """Relative path -> CSV, means over seeds: trainings on the development blocks, and the declared curves."""
    history = frames["history"]
    development = history[history["split"] == "development"]
    training = Curve("training", ("model",), "step", ("loss", "exact_match", "valid_share"))
    drawn = [(training, development), *((curve, frames[curve.table]) for curve in declared)]
    return {
        f"{curve.table}/{'_'.join(map(str, place))}.csv": tidy.csv(
            rows.groupby(curve.axis)[list(curve.columns)].mean().reset_index()
        )
        for curve, frame in drawn
        for place, rows in frame.groupby(["experiment", "dependencies", *curve.by], sort=True)
    }
