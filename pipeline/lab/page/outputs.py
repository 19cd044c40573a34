"""Tables of the curves that `dvc plots show` draws."""

from __future__ import annotations

import pandas as pd

from pipeline.lab import tidy


def curves(history: pd.DataFrame, sweep: pd.DataFrame) -> dict[str, str]:
    """Relative path -> CSV, means over seeds: trainings on the development blocks, and Figure 3."""
    development = history[history["split"] == "development"]
    return {
        f"{folder}/{'_'.join(map(str, place))}.csv": tidy.csv(rows.groupby(axis)[columns].mean().reset_index())
        for folder, frame, by, axis, columns in (
            ("training", development, ["model"], "step", ["loss", "exact_match", "valid_share"]),
            ("sweep", sweep, [], "iterations", ["violations_per_block", "valid_share", "exact_match"]),
        )
        for place, rows in frame.groupby(["experiment", "dependencies", *by], sort=True)
    }
