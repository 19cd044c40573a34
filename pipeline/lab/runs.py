"""Tables -> the runs that a tracker holds: methods, trainings, and whole experiments. No tracker is known here."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.lab import tidy
from pipeline.lab.config.experiments import tasks
from pipeline.lab.provenance import Provenance, flat

_CURVES = ("loss", "exact_match", "valid_share", "mean", "best", "learning_rate")
DRAWN_CURVES = [("loss", "Loss, nats per instruction"), ("exact_match", "Exact match"), ("valid_share", "Valid")]
_JUDGES = ("none", "hardware", "this_machine", "simulator", "fusion_cost")  # beside the processor that is the target
_DECODERS = ("timed", "beam", "hungarian", "best", "none")  # the first that a method has decides its key metrics
_OF_NETWORK = ("development/exact_match", "training/loss")  # key metrics of a trained network ...
_OF_POLICY = ("development/best", "training/loss")  # ... and of a trained policy
_COLUMNS = 10  # key metrics of a run
_DRAWN = 3  # of these, in a picture of all methods
_LESS_IS_BETTER = (".ratio.", "distance", "loss")  # parts of the names of such metrics
_SIZES = ("parameters", "weights_bytes", "train_blocks")  # of a network, published over all its seeds
_TRAINING = ["dependencies", "model", "seed"]
Settings = dict[str, Any]  # of an experiment, resolved; its `models` and `methods` are settings by name


@dataclass(frozen=True)
class Run:
    """One run of a tracker. Equal fingerprints: nothing to log again."""

    name: str
    tags: dict[str, str]
    parameters: dict[str, str]
    metrics: dict[str, float]
    key_metrics: Sequence[str] = ()  # names of the metrics that runs of the experiment are compared by
    curves: list[tuple[str, float, int]] = field(default_factory=list)  # metric, value, step
    picture: Callable[[], bytes] | None = None  # a PNG; it is drawn when the run is logged
    files: dict[str, list[Path]] = field(default_factory=dict)  # folder of the artifacts -> files
    hashes: dict[str, str] = field(default_factory=dict)  # SHA-256 of what stands behind it
    provenance: dict[str, str] = field(default_factory=dict)  # tags, too; empty: of the moment of logging

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that the run carries."""
        parts = (self.parameters, self.metrics, self.curves, self.hashes, self.provenance)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def network(
    place: dict[str, str], settings: Settings, history: pd.DataFrame, results: pd.DataFrame | None = None
) -> Run:
    """The run of one training: its settings, its curves, and the numbers of the methods that use the network.

    `place`: experiment, model, seed, and the dependencies of a network for blocks; `settings`: the experiment's;
    `history`: its own; `results`: the experiment's, where they say a network's seed.
    """
    model = place["model"]
    metrics: dict[str, float] = {}
    if results is not None:
        methods = [name for name, method in _entries(settings, "methods").items() if method.get("model") == model]
        rows = results[results["dependencies"] == place["dependencies"]]
        used = rows[(rows["seed"] == place["seed"]) & rows["method"].isin([model, *methods])]
        sizes = rows[(rows["seed"] == "all") & (rows["method"] == model) & rows["metric"].isin(_SIZES)]
        metrics = _metrics(tidy.main(used), "set", "method", "decoder") | _metrics(sizes, "set")
    return Run(
        name=_name(place),
        tags={**place, "kind": "training"},
        parameters=_parameters(place, _entries(settings, "models").get(model)),
        metrics=metrics,
        key_metrics=_OF_POLICY if "best" in history else _OF_NETWORK,
        curves=[
            (f"{row['split']}/{metric}", float(row[metric]), int(row["step"]))
            for row in history.to_dict("records")
            for metric in _CURVES
            if metric in row and not pd.isna(row[metric]) and (metric != "learning_rate" or row["split"] == "training")
        ],
    )


def whole(experiment: str, files: dict[str, list[Path]], hashes: dict[str, str]) -> Run:
    """The run that carries an experiment's tables and its page. `hashes`: SHA-256 of every file of `files`."""
    return Run(
        name="tables",
        tags={"experiment": experiment, "kind": "tables"},
        parameters={"experiment": experiment},
        metrics={},
        files=files,
        hashes=hashes,
    )


def methods(experiment: str, settings: Settings, results: pd.DataFrame) -> list[Run]:
    """The runs of an experiment's methods, over all seeds, the best by its first key metric first.

    `settings`, `results`: the experiment's.
    """
    rows = results[(results["seed"] == "all") & (results["method"] != "none")].dropna(subset=["value"])
    entries = _entries(settings, "methods") | _entries(settings, "models")
    runs: list[Run] = []
    for method, rows_of_method in rows.groupby("method"):
        place = {"experiment": experiment, "method": str(method)}
        key_metrics = _key_metrics(settings, rows_of_method)
        runs.append(
            Run(
                name=_name(place),
                tags={**place, "kind": "method"},
                parameters=_parameters(place, entries.get(str(method))),
                metrics=_metrics(rows_of_method, "set", "target", "decoder") | key_metrics,
                key_metrics=tuple(key_metrics)[:_COLUMNS],
            )
        )
    table = compared(runs)
    places = {name: place for place, name in enumerate(table.index)}
    runs.sort(key=lambda run: places[run.name])
    picture = cache(partial(drawn, "methods", table.iloc[:, :_DRAWN].dropna(how="all")))  # the same for all of them
    return [replace(run, picture=picture) if run.key_metrics else run for run in runs]


def drawn(kind: str, *content: Any) -> bytes:
    """A picture of a kind that `pipeline.lab.page.plots` draws, as a PNG."""
    from learned_schedulers.figures import render  # takes a second: not where nothing is drawn
    from pipeline.lab.page import plots

    return render(getattr(plots, kind)(*content))


def compared(methods: list[Run]) -> pd.DataFrame:
    """Key metrics (columns) of methods (index); the best by the first one is first, those without it are last."""
    table = pd.DataFrame({run.name: {name: run.metrics[name] for name in run.key_metrics} for run in methods}).T
    for name in table.columns[:1]:
        table = table.sort_values(name, ascending=less_is_better(name), kind="stable")
    return table


def less_is_better(metric: str) -> bool:
    """Whether the best method has the lowest value of a key metric."""
    return any(part in metric for part in _LESS_IS_BETTER)


def ranked(values: pd.Series[float]) -> pd.Series[float]:
    """A column of `compared`, the best first, without methods that have no value."""
    return values.dropna().sort_values(ascending=less_is_better(str(values.name)), kind="stable")


def _key_metrics(settings: Settings, results: pd.DataFrame) -> dict[str, float]:
    """Key metrics of a method, as `test_5/atom/cycles.ratio.gcc`; `results`: the method's, over all seeds.

    Their names say neither method nor decoder: all methods of the experiment have the same.
    """
    of_all = (results["lengths"] == "all") & (results["iterations"] == "none") & (results["comparison"] != "difference")
    rows = results[of_all & (results["judge"].isin(_JUDGES) | (results["judge"] == results["target"]))]
    ranks = {"set": ["all", *settings.get("sets", [])], "target": ["all", *settings.get("targets", [])]}
    ranks["decoder"] = list(_DECODERS)

    def rank(row: Mapping[Hashable, Any]) -> list[int]:
        return [names.index(row[column]) if row[column] in names else len(names) for column, names in ranks.items()]

    values: dict[str, float] = {}
    task = tasks().get(settings.get("task", ""))
    for metric, baseline in task.key_metrics if task else ():
        chosen = rows[(rows["metric"] == metric) & (rows["baseline"] == baseline)]
        for row in sorted(chosen.to_dict("records"), key=rank):
            place = [row["set"], *([row["target"]] if row["target"] not in ("none", "gcc") else [])]
            values.setdefault("/".join([*place, tidy.name(row | {"judge": "none"})]), float(row["value"]))
    return values


def columns(runs: list[Run]) -> list[str]:
    """The metrics that a table of these runs shows first: key metrics, or those that most runs have."""
    names = list(dict.fromkeys(name for run in runs for name in run.key_metrics))
    common = Counter(name for run in runs for name in run.metrics)
    return names or [name for name, _ in common.most_common(_COLUMNS)]


def _name(place: dict[str, str]) -> str:
    """Name of a run in its experiment."""
    return "/".join(value for key, value in place.items() if key != "experiment")


def published(
    provenance: Provenance,
    settings_now: Settings | None,
    results: pd.DataFrame,
    history: pd.DataFrame,
    policies: pd.DataFrame,
    tables: Run,
) -> list[Run]:
    """The runs of a published experiment: of its methods and trainings, and `tables`, which carries its files.

    Settings are those that were recorded with the numbers, none where none were; `settings_now` says the task, the
    sets and the targets of those. `results`, `history`, `policies`: the experiment's tables results, history and
    policy_trainings.
    """
    experiment, processor = provenance.experiment, provenance.processor
    settings: Settings = {} if isinstance(provenance.settings, str) else provenance.settings
    question = {key: value for key, value in (settings_now or {}).items() if key in ("task", "sets", "targets")}
    runs = methods(experiment, question | settings, results)
    for training, rows in history.groupby(_TRAINING):
        place = {"experiment": experiment} | dict(zip(_TRAINING, map(str, training), strict=True))
        runs.append(network(place, settings, rows, results))
    for (model, seed), rows in policies.groupby(["model", "seed"]):
        runs.append(network({"experiment": experiment, "model": str(model), "seed": str(seed)}, settings, rows))
    runs.append(tables)
    origin = {
        "git_commit": provenance.commit,
        "dirty": str(provenance.dirty),
        "processor": processor if isinstance(processor, str) else processor.text(),
        "published": provenance.published,
    }
    return [replace(run, provenance=origin) for run in runs]


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
