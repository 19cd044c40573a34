"""How the networks were trained, and what else was tried."""

from __future__ import annotations

import pandas as pd

from pipeline.analysis import tidy
from pipeline.config.experiments import Training
from pipeline.config.params import Params
from pipeline.report import plots
from pipeline.report.index.experiments import fresh_first
from pipeline.report.numbers import cell, shown

KNOBS = [name.replace("_", " ").capitalize() for name in Training.model_fields]


def settings(params: Params, names: set[str]) -> list[list[str]]:
    """Every knob of every training of the experiments of these names, fresh experiments first."""
    return [
        [experiment, plots.label(name), *(_knob(value) for value in model.model_dump().values())]
        for experiment, settings in sorted(params.experiments.items(), key=fresh_first(params))
        for name, model in sorted(settings.models.items(), reverse=True)
        if experiment in names
    ]


def _knob(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else cell(value)


def trained_iterations(params: Params, names: set[str]) -> list[int]:
    """Iterations that POPOCS was trained with in the experiments of these names."""
    chosen = [experiment for name, experiment in params.experiments.items() if name in names]
    models = [model for experiment in chosen for model in experiment.models.values()]
    return sorted({model.iterations for model in models if model.operator == "popocs"})


def trials(trials: pd.DataFrame) -> list[list[str]]:
    """Rows of the table of what was tried: the settings that differ between trials, and how each ended."""
    if trials.empty:
        return []
    names = (
        "trial", "operator", "method", "proposal", "loss", "floor", "iterations", "optimiser", "learning_rate",
        "batch_size", "steps",
    )  # fmt: skip
    text = [[f"{row[name]:g}" if isinstance(row[name], float) else str(row[name]) for name in names] for _, row in
            trials.iterrows()]  # fmt: skip
    ends = zip(trials["exact_match"], trials["valid_share"], strict=True)
    return [
        [*cells, shown("exact_match", e), shown("valid_share", v)] for cells, (e, v) in zip(text, ends, strict=True)
    ]


def curves(history: pd.DataFrame, sweep: pd.DataFrame) -> dict[str, str]:
    """What `dvc plots show` draws: a CSV by relative path, means over seeds."""
    files = {}
    history = history[history["split"] == "development"]
    for (experiment, dependencies, model), rows in history.groupby(["experiment", "dependencies", "model"], sort=True):
        means = rows.groupby("step")[["loss", "exact_match", "valid_share"]].mean().reset_index()
        files[f"training/{experiment}_{dependencies}_{model}.csv"] = tidy.csv(means)
    for (experiment, dependencies), rows in sweep.groupby(["experiment", "dependencies"], sort=True):
        means = rows.groupby("iterations")[["violations_per_block", "valid_share", "exact_match"]].mean().reset_index()
        files[f"sweep/{experiment}_{dependencies}.csv"] = tidy.csv(means)
    return files
