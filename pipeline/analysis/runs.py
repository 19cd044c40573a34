"""Tables -> what a tracker should hold: flat runs of trained networks and of methods. No tracker is known here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.analysis import tidy
from pipeline.analysis.provenance import Older, Provenance, flat, state

_CURVES = ("loss", "exact_match", "valid_share", "learning_rate")
_SIZES = ("parameters", "weights_bytes", "train_blocks")  # of a network, published over all its seeds
_LONGEST = 5000  # characters of a tag
Settings = dict[str, Any]  # of an experiment, resolved; its `models` and `methods` are settings by name


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
    provenance: dict[str, str] = field(default_factory=dict)  # tags, too; empty: of the moment of logging
    state: dict[str, str] = field(default_factory=dict)  # tags that change without the numbers


def digest(*parts: object) -> str:
    """SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def network(
    place: dict[str, str],
    settings: Settings,
    history: pd.DataFrame,
    results: pd.DataFrame,
    weights: Path,
    hashes: dict[str, str],
) -> Run:
    """The run of one trained network, freshly evaluated.

    `place`: experiment, dependencies, model, seed; `settings`: the experiment's; `history`: its own; `results`: the
    experiment's; `hashes`: SHA-256 of its `history` and `weights`, and of the `dataset` where there is one.
    """
    run = _trained(place, settings, history, results)
    identity = digest(run.parameters, hashes.get("dataset"))
    return replace(
        run,
        identity=identity,
        fingerprint=digest(identity, hashes, run.metrics),
        tags=run.tags | ({"dataset_sha256": hashes["dataset"]} if "dataset" in hashes else {}),
        history=history.assign(**place),
        files={"weights": [weights]},
        state=_OF_NOW,
    )


def whole(experiment: str, results: pd.DataFrame, files: dict[str, list[Path]], hashes: dict[str, str]) -> Run:
    """The run that carries an experiment's tables and the report.

    `results`: the experiment's; `hashes`: SHA-256 of every file of `files`.
    """
    rows = tidy.main(results[results["seed"] == "all"])
    metrics = _metrics(rows, "set", "method", "decoder")
    name = f"{experiment}/report"
    identity = digest(name)
    return Run(
        name=name,
        identity=identity,
        fingerprint=digest(identity, hashes, metrics),
        tags={
            "experiment": experiment,
            "group": f"{experiment}/report",
            "mlflow.note.content": "Tables and report of the experiment: Artifacts, report/index.html.",
        },
        parameters={"experiment": experiment},
        metrics=metrics,
        files=files,
        state=_OF_NOW,
    )


def published(
    provenance: Provenance,
    sources_now: dict[str, str],
    settings_now: Settings | None,
    results: pd.DataFrame,
    history: pd.DataFrame,
) -> list[Run]:
    """The runs of a published experiment: of each of its trainings, or, where there are none, of each method.

    Settings are those that were recorded with the numbers, none where none were. `settings_now`, `sources_now`: what
    tells whether the numbers are older (see `provenance.state`); `results`, `history`: the experiment's.
    """
    experiment = provenance.experiment
    settings: Settings = {} if isinstance(provenance.settings, str) else provenance.settings
    trainings = sorted(set(zip(history["dependencies"], history["model"], history["seed"], strict=True)))
    runs = []
    for mode, model, seed in trainings:
        own = history[(history["dependencies"] == mode) & (history["model"] == model) & (history["seed"] == seed)]
        place = {"experiment": experiment, "dependencies": mode, "model": model, "seed": seed}
        runs.append(_trained(place, settings, own, results))
    if not trainings:
        over_seeds = results[results["seed"] == "all"].dropna(subset=["value"])
        for method in sorted(set(over_seeds["method"]) - {"none"}):  # `none`: of no method, as how a judge ranks orders
            runs.append(_of_method({"experiment": experiment, "method": method}, settings, over_seeds))
    found = state(provenance, sources_now, settings_now)
    older = {"older": "yes", "older_why": "; ".join(found.why)[:_LONGEST]} if isinstance(found, Older) else _OF_NOW
    origin = _origin(provenance)
    return [replace(run, provenance=origin, state=older, fingerprint=digest(run.fingerprint, origin)) for run in runs]


_OF_NOW = {"older": "no", "older_why": "-"}


def _origin(provenance: Provenance) -> dict[str, str]:
    """Tags that say where numbers come from."""
    processor = provenance.processor
    return {
        "git_commit": provenance.commit,
        "dirty": str(provenance.dirty),
        "processor": processor if isinstance(processor, str) else f"{processor.name} ({processor.kind})",
        "published": provenance.published,
    }


def _trained(place: dict[str, str], settings: Settings, history: pd.DataFrame, results: pd.DataFrame) -> Run:
    """What a training is known by: its settings, its curves, and the numbers of the methods that use it."""
    methods = [name for name, method in settings.get("methods", {}).items() if method.get("model") == place["model"]]
    rows = results[results["dependencies"] == place["dependencies"]]
    used = rows[(rows["seed"] == place["seed"]) & rows["method"].isin([place["model"], *methods])]
    sizes = rows[(rows["seed"] == "all") & (rows["method"] == place["model"]) & rows["metric"].isin(_SIZES)]
    metrics = _metrics(tidy.main(used), "set", "method", "decoder") | _metrics(sizes, "set")
    parameters = _parameters(place, settings.get("models", {}).get(place["model"]))
    curves = _curves(history)
    identity = digest(parameters)
    return Run(
        name="/".join(place.values()),
        identity=identity,
        fingerprint=digest(identity, metrics, curves),
        tags={**place, "group": f"{place['experiment']}/{place['dependencies']}"},
        parameters=parameters,
        metrics=metrics,
        curves=curves,
    )


def _of_method(place: dict[str, str], settings: Settings, results: pd.DataFrame) -> Run:
    name = place["method"]
    metrics = _metrics(results[results["method"] == name], "set", "target", "decoder")
    parameters = _parameters(place, (settings.get("methods", {}) | settings.get("models", {})).get(name))
    identity = digest(parameters)
    return Run(
        name="/".join(place.values()),
        identity=identity,
        fingerprint=digest(identity, metrics),
        tags={**place, "group": place["experiment"]},
        parameters=parameters,
        metrics=metrics,
    )


def _parameters(place: dict[str, str], settings: object) -> dict[str, str]:
    """Place and settings; the settings' own names are joined by dots: `encoder.kind`."""
    return place | ({key: str(value) for key, value in flat(settings).items()} if settings else {})


def _curves(history: pd.DataFrame) -> list[tuple[str, float, int]]:
    return [
        (f"{row['split']}/{metric}", float(row[metric]), int(row["step"]))
        for row in history.to_dict("records")
        for metric in _CURVES
        if not pd.isna(row[metric]) and (metric != "learning_rate" or row["split"] == "training")
    ]


def _metrics(rows: pd.DataFrame, *columns: str) -> dict[str, float]:
    return {tidy.name(row, *columns): float(row["value"]) for row in rows.to_dict("records")}
