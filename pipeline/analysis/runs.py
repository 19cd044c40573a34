"""Tables -> what a tracker should hold: one flat run for each trained network. No tracker is known here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from pipeline.analysis import tidy
from pipeline.config.experiments import Training
from pipeline.config.ordering import Ordering
from pipeline.config.schedulers import Scheduler

_CURVES = ("loss", "exact_match", "valid_share", "learning_rate")
_SHARED = ("parameters", "weights_bytes", "train_blocks", "blocks_per_second")  # of an imitator, by all its seeds


@dataclass(frozen=True)
class Run:
    """One run of a tracker. Equal fingerprints: nothing to log again. Equal identities: the newer one replaces."""

    name: str
    identity: str  # of the question: parameters, data set and seed
    fingerprint: str  # of the answer: all that the run carries
    tags: dict[str, str]
    parameters: dict[str, str]
    metrics: dict[str, float]
    curves: list[tuple[str, float, int]] = field(default_factory=list)  # metric, value, step
    history: pd.DataFrame | None = None
    files: dict[str, list[Path]] = field(default_factory=dict)  # folder of the artifacts -> files


def digest(*parts: object) -> str:
    """SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def network(
    place: dict[str, str],
    training: Training,
    schedulers: dict[str, Scheduler],
    history: pd.DataFrame,
    results: pd.DataFrame,
    weights: Path,
    hashes: dict[str, str],
) -> Run:
    """The run of one trained network.

    `place`: experiment, dependencies, model, seed; `history`: its own; `results`: the experiment's;
    `hashes`: SHA-256 of its `splits`, `history` and `weights`.
    """
    own = [name for name, scheduler in schedulers.items() if scheduler.model == place["model"]]
    rows = results[
        (results["dependencies"] == place["dependencies"])
        & (results["seed"] == place["seed"])
        & (results["split"] == "test")
        & results["scheduler"].isin(own)
    ]
    metrics = _metrics(rows, ["scheduler", "decoder", "metric"])
    parameters = {**place, **{key: str(value) for key, value in training.model_dump().items()}}
    identity = digest(parameters, hashes["splits"])
    return Run(
        name="/".join(place.values()),
        identity=identity,
        fingerprint=digest(identity, hashes, metrics),
        tags={
            **place,
            "group": f"{place['experiment']}/{place['dependencies']}",
            "dataset_sha256": hashes["splits"],
        },
        parameters=parameters,
        metrics=metrics,
        curves=_curves(history),
        history=history.assign(**place),
        files={"weights": [weights]},
    )


def imitator(place: dict[str, str], settings: Ordering | None, history: pd.DataFrame, results: pd.DataFrame) -> Run:
    """The run of one trained imitator, of its published numbers: they carry no weights.

    `place`: experiment, model, seed; `settings`: None for a model that the parameters no longer name; `history`: its
    own; `results`: the experiment's. What was published over all seeds (sizes, speed) is of each of them.
    """
    rows = results[(results["scheduler"] == place["model"]) & results["value"].notna()]
    measured = rows[(rows["seed"] == place["seed"]) & rows["metric"].isin(tidy.MAIN_METRICS)]
    shared = rows[(rows["seed"] == "all") & rows["metric"].isin(_SHARED)]
    metrics = {
        ".".join(row[name] for name in ("split", "decoder", "metric")): float(row["value"])
        for row in [*measured.to_dict("records"), *shared.to_dict("records")]
    }
    parameters = _parameters(place, settings.model_dump() if settings is not None else {})
    name, curves = "/".join(place.values()), _curves(history)
    identity = digest(parameters)
    return Run(
        name=name,
        identity=identity,
        fingerprint=digest(identity, metrics, curves),
        tags={**place, "group": place["experiment"]},
        parameters=parameters,
        metrics=metrics,
        curves=curves,
    )


def scheduler(place: dict[str, str], settings: Scheduler | Ordering | None, results: pd.DataFrame) -> Run:
    """The run of a scheduler on processor models: cycles, times and proofs as published.

    `place`: experiment and scheduler; `settings`: None for one that the parameters do not name, as GCC; `results`: its
    own, over all seeds.
    """
    metrics = {
        ".".join(row[name] for name in ("split", "decoder", "metric")): float(row["value"])
        for row in results.dropna(subset=["value"]).to_dict("records")
    }
    parameters = _parameters(place, settings.model_dump(exclude_none=True) if settings is not None else {})
    identity = digest(parameters)
    return Run(
        name="/".join(place.values()),
        identity=identity,
        fingerprint=digest(identity, metrics),
        tags={**place, "group": place["experiment"]},
        parameters=parameters,
        metrics=metrics,
    )


def _parameters(place: dict[str, str], settings: dict[str, object]) -> dict[str, str]:
    """The settings' own names are joined by dots: `encoder.kind`."""
    known = pd.json_normalize(settings).to_dict("records")[0] if settings else {}
    return {**place, **{str(key): str(value) for key, value in known.items()}}


def whole(experiment: str, results: pd.DataFrame, files: dict[str, list[Path]], hashes: dict[str, str]) -> Run:
    """The run that carries an experiment's tables and the report.

    `results`: the experiment's; `hashes`: SHA-256 of every file of `files`.
    """
    rows = results[(results["seed"] == "all") & (results["split"] == "test")]
    metrics = _metrics(rows, ["dependencies", "scheduler", "decoder", "metric"])
    name = f"{experiment}/report"
    return Run(
        name=name,
        identity=digest(name),
        fingerprint=digest(name, hashes, metrics),
        tags={
            "experiment": experiment,
            "group": f"{experiment}/report",
            "mlflow.note.content": "Tables and report of the experiment: Artifacts, report/index.html.",
        },
        parameters={"experiment": experiment},
        metrics=metrics,
        files=files,
    )


def _curves(history: pd.DataFrame) -> list[tuple[str, float, int]]:
    return [
        (f"{row['split']}/{metric}", float(row[metric]), int(row["step"]))
        for row in history.to_dict("records")
        for metric in _CURVES
        if not pd.isna(row[metric]) and (metric != "learning_rate" or row["split"] == "training")
    ]


def _metrics(rows: pd.DataFrame, names: list[str]) -> dict[str, float]:
    known = rows[rows["metric"].isin(tidy.MAIN_METRICS)].dropna(subset=["value"])
    return {".".join(row[name] for name in names): float(row["value"]) for row in known.to_dict("records")}
