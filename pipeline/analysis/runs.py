"""Tables -> what a tracker should hold: flat runs of trained networks and of methods. No tracker is known here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.analysis import tidy
from pipeline.analysis.provenance import Provenance, flat, older

_CURVES = ("loss", "exact_match", "valid_share", "learning_rate")
_CURVES_OF_POLICIES = ("loss", "mean", "best", "learning_rate")
_SIZES = ("parameters", "weights_bytes", "train_blocks")  # of a network, published over all its seeds
_LONGEST = 5000  # characters of a tag
_TRAINING = ["dependencies", "model", "seed"]
_OF_NOW = {"older": "no", "older_why": "-"}
Settings = dict[str, Any]  # of an experiment, resolved; its `models` and `methods` are settings by name


@dataclass(frozen=True)
class Run:
    """One run of a tracker. Equal fingerprints: nothing to log again. Equal identities: the newer one replaces."""

    name: str
    tags: dict[str, str]
    parameters: dict[str, str]
    metrics: dict[str, float]
    curves: list[tuple[str, float, int]] = field(default_factory=list)  # metric, value, step
    history: pd.DataFrame | None = None
    files: dict[str, list[Path]] = field(default_factory=dict)  # folder of the artifacts -> files
    hashes: dict[str, str] = field(default_factory=dict)  # SHA-256 of what stands behind it, the `dataset` among it
    provenance: dict[str, str] = field(default_factory=dict)  # tags, too; empty: of the moment of logging
    state: dict[str, str] = field(default_factory=_OF_NOW.copy)  # tags that change without the numbers

    @property
    def identity(self) -> str:
        """Of the question: parameters (the seed among them) and data set."""
        return _digest(self.parameters, *filter(None, [self.hashes.get("dataset")]))

    @property
    def fingerprint(self) -> str:
        """Of the answer: all that the run carries."""
        return _digest(self.identity, self.metrics, self.curves, self.hashes, self.provenance)


def _digest(*parts: object) -> str:
    """SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def network(place: dict[str, str], settings: Settings, history: pd.DataFrame, results: pd.DataFrame) -> Run:
    """The run of one trained network: its settings, its curves, and the numbers of the methods that use it.

    `place`: experiment, dependencies, model, seed; `settings`, `results`: the experiment's; `history`: its own.
    """
    model = place["model"]
    methods = [name for name, method in _entries(settings, "methods").items() if method.get("model") == model]
    rows = results[results["dependencies"] == place["dependencies"]]
    used = rows[(rows["seed"] == place["seed"]) & rows["method"].isin([model, *methods])]
    sizes = rows[(rows["seed"] == "all") & (rows["method"] == model) & rows["metric"].isin(_SIZES)]
    return Run(
        name="/".join(place.values()),
        tags={**place, "group": f"{place['experiment']}/{place['dependencies']}"},
        parameters=_parameters(place, _entries(settings, "models").get(model)),
        metrics=_metrics(tidy.main(used), "set", "method", "decoder") | _metrics(sizes, "set"),
        curves=_curves(history, _CURVES),
    )


def _policy(place: dict[str, str], settings: Settings, history: pd.DataFrame) -> Run:
    """The run of one trained policy: its settings and curves; its numbers are in the runs of the methods that use it.

    `place`: experiment, model, seed; `settings`: the experiment's; `history`: its own rows of `policy_trainings`.
    """
    last = history[history["step"] == history["step"].max()]
    rows = last.set_index("split")[["loss", "mean", "best"]].stack().items()
    return Run(
        name="/".join(place.values()),
        tags={**place, "group": f"{place['experiment']}/{place['model']}"},
        parameters=_parameters(place, _entries(settings, "models").get(place["model"])),
        metrics={f"last/{split}/{metric}": float(value) for (split, metric), value in rows if not pd.isna(value)},
        curves=_curves(history, _CURVES_OF_POLICIES),
    )


def _curves(history: pd.DataFrame, metrics: tuple[str, ...]) -> list[tuple[str, float, int]]:
    return [
        (f"{row['split']}/{metric}", float(row[metric]), int(row["step"]))
        for row in history.to_dict("records")
        for metric in metrics
        if not pd.isna(row[metric]) and (metric != "learning_rate" or row["split"] == "training")
    ]


def whole(experiment: str, results: pd.DataFrame, files: dict[str, list[Path]], hashes: dict[str, str]) -> Run:
    """The run that carries an experiment's tables and the report.

    `results`: the experiment's; `hashes`: SHA-256 of every file of `files`.
    """
    name, over_seeds = f"{experiment}/report", results[results["seed"] == "all"]
    on_graphs = over_seeds[(over_seeds["metric"] == "makespan") & (over_seeds["baseline"] == "list_scheduling")]
    note = "Tables and report of the experiment: Artifacts, report/index.html."
    return Run(
        name=name,
        tags={"experiment": experiment, "group": name, "mlflow.note.content": note},
        parameters={"experiment": experiment},
        metrics=_metrics(tidy.main(over_seeds), "set", "method", "decoder")
        | _metrics(on_graphs.dropna(subset=["value"]), "set", "target", "method", "decoder"),
        files=files,
        hashes=hashes,
    )


def published(
    provenance: Provenance,
    settings_now: Settings | None,
    results: pd.DataFrame,
    history: pd.DataFrame,
    policies: pd.DataFrame,
) -> list[Run]:
    """The runs of a published experiment: of each of its trainings, or, where there are none, of each method.

    Policies have runs of their own beside those of the methods. Settings are those that were recorded with the numbers,
    none where none were. `settings_now`: tells whether the numbers are older (see `provenance.older`); `results`,
    `history`, `policies`: the experiment's tables results, history and policy_trainings.
    """
    experiment, processor = provenance.experiment, provenance.processor
    settings: Settings = {} if isinstance(provenance.settings, str) else provenance.settings
    runs = [
        network(
            {"experiment": experiment} | dict(zip(_TRAINING, map(str, training), strict=True)), settings, own, results
        )
        for training, own in history.groupby(_TRAINING)
    ]
    if not runs:
        over_seeds = results[results["seed"] == "all"].dropna(subset=["value"])
        by_method = over_seeds[over_seeds["method"] != "none"].groupby("method")  # `none`: as how a judge ranks orders
        runs = [_of_method({"experiment": experiment, "method": str(name)}, settings, own) for name, own in by_method]
    for (model, seed), own in policies.groupby(["model", "seed"]):
        runs.append(_policy({"experiment": experiment, "model": str(model), "seed": str(seed)}, settings, own))
    why = older(provenance, settings_now)
    state = {"older": "yes", "older_why": "; ".join(why)[:_LONGEST]} if why else _OF_NOW
    origin = {
        "git_commit": provenance.commit,
        "dirty": str(provenance.dirty),
        "processor": processor if isinstance(processor, str) else processor.text(),
        "published": provenance.published,
    }
    return [replace(run, provenance=origin, state=state) for run in runs]


def _of_method(place: dict[str, str], settings: Settings, results: pd.DataFrame) -> Run:
    entries = _entries(settings, "methods") | _entries(settings, "models")
    return Run(
        name="/".join(place.values()),
        tags={**place, "group": place["experiment"]},
        parameters=_parameters(place, entries.get(place["method"])),
        metrics=_metrics(results, "set", "target", "decoder"),
    )


def _entries(settings: Settings, key: str) -> dict[str, Any]:
    """Settings of methods or models by name; none where a benchmark recorded their names alone."""
    entries = settings.get(key)
    return dict(entries) if isinstance(entries, Mapping) else {}


def _parameters(place: dict[str, str], settings: object) -> dict[str, str]:
    """Place and settings, whose own names are joined by dots: `encoder.kind`.

    The place comes first where both have a name: entries of several names may have one `method`.
    """
    return ({key: str(value) for key, value in flat(settings).items()} if settings else {}) | place


def _metrics(rows: pd.DataFrame, *columns: str) -> dict[str, float]:
    return {tidy.name(row, *columns): float(row["value"]) for row in rows.to_dict("records")}
