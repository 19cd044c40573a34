"""Tables -> the runs that a tracker holds: methods, trainings, and whole experiments. No tracker is known here."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.lab import tidy
from pipeline.lab.config.experiments import GCC, tasks
from pipeline.lab.provenance import Provenance, flat

_CURVES = ("loss", "exact_match", "valid_share", "mean", "best", "learning_rate")
_JUDGES = ("none", "hardware", "this_machine", "simulator", "fusion_cost")  # beside the processor that is the target
_DECODERS = ("timed", "beam", "hungarian", "best", "none")  # the first that a method has decides its key metrics
_OF_NETWORK = ("development/exact_match: up", "training/loss: down")  # key metrics of a trained network ...
_OF_POLICY = ("development/best: down", "training/loss: down")  # ... and of a trained policy
_COLUMNS = 10  # key metrics of a run
_DRAWN = 3  # of these, in a picture of all methods
# What is better stands in a metric's name, where it is known; ratios are of costs.
_UP = (
    *("exact_match", "exact_match_multi_order", "slot_accuracy", "valid_share", "fewer_cycles_share", "speedup"),
    *("kept_speedup", "proven_optimal_share", "scheduled_share", "placed_share", "share_of_head_room"),
    "rank_correlation",
)
_DOWN = ("cycles", "kendall_tau_distance", "violations_per_block", "more_cycles_share", "loss", "mean", "best")
_DOWNWARDS = ": down"  # the end of the names of metrics whose lowest value is the best
_NETWORKS = ("models", "guesses", "networks")  # sections of an experiment's settings: trained networks by name
_OF_OTHERS = (*_NETWORKS, "methods", "shown")  # sections of which a run has its own entries alone, or none
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
    data: dict[str, str] = field(default_factory=dict)  # set that the numbers come from -> SHA-256
    worked: tuple[float, float] | None = None  # begin and end of the work, seconds since 1970; None: of the logging

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that the run carries, apart from times."""
        parts = (self.parameters, self.metrics, self.curves, self.hashes, self.provenance, self.data)
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
        metrics = _metrics(tidy.main(used), "method")
    return Run(
        name=_name(place),
        tags={**place, "kind": "training"},
        parameters=_parameters(place, settings, None, model),
        metrics=metrics,
        key_metrics=_OF_POLICY if "best" in history else _OF_NETWORK,
        curves=[
            (_directed(f"{row['split']}/{metric}", metric), float(row[metric]), int(row["step"]))
            for row in history.to_dict("records")
            for metric in _CURVES
            if metric in row and not pd.isna(row[metric]) and (metric != "learning_rate" or row["split"] == "training")
        ],
    )


def whole(experiment: str, settings: Settings, files: Mapping[Path, str]) -> Run:
    """The run that carries an experiment's tables. `files`: each with its SHA-256."""
    return Run(
        name="tables",
        tags={"experiment": experiment, "kind": "tables"},
        parameters=_parameters({"experiment": experiment}, settings, None, ""),
        metrics={},
        files={"tables": [*files]},
        hashes={str(path): digest for path, digest in files.items()},
    )


def methods(experiment: str, settings: Settings, results: pd.DataFrame) -> list[Run]:
    """The runs of an experiment's methods, over all seeds, the best by its first key metric first.

    `settings`, `results`: the experiment's.
    """
    rows = results[(results["seed"] == "all") & (results["method"] != "none")].dropna(subset=["value"])
    entries, references = _entries(settings, "methods"), _references(settings)
    runs: list[Run] = []
    for method, rows_of_method in rows.groupby("method"):
        place = {"experiment": experiment, "method": str(method)}
        key_metrics = _key_metrics(settings, rows_of_method)  # and the other metrics: one name for each number
        values = rows_of_method["value"].to_dict()
        metrics = _metrics(rows_of_method.drop(list(key_metrics.values())), "target")
        mark = {"reference": "true"} if method in references else {}
        runs.append(
            Run(
                name=_name(place) + (" (reference)" if mark else ""),
                tags={**place, "kind": "method", **mark},
                parameters=_parameters(place, settings, entries.get(str(method)), str(method)),
                metrics=metrics | {name: float(values[row]) for name, row in key_metrics.items()},
                key_metrics=tuple(key_metrics)[:_COLUMNS],
            )
        )
    table = compared(runs)
    places = {name: place for place, name in enumerate(table.index)}
    runs.sort(key=lambda run: places[run.tags["method"]])
    picture = cache(partial(_drawn, table.iloc[:, :_DRAWN].dropna(how="all")))  # the same for all of them
    return [replace(run, picture=picture) if run.key_metrics else run for run in runs]


def _drawn(table: pd.DataFrame) -> bytes:
    """A picture of methods in some metrics, as a PNG."""
    from learned_schedulers.figures import render  # takes a second: not where nothing is drawn
    from pipeline.lab.page import plots

    return render(plots.methods(table))


def compared(methods: list[Run]) -> pd.DataFrame:
    """Key metrics (columns) of methods (index); the best by the first one is first, those without it are last."""
    values = {run.tags["method"]: {name: run.metrics[name] for name in run.key_metrics} for run in methods}
    table = pd.DataFrame(values).T
    for name in table.columns[:1]:
        table = table.sort_values(name, ascending=less_is_better(name), kind="stable")
    return table


def less_is_better(metric: str) -> bool:
    """Whether the best method has the lowest value of a key metric."""
    return metric.endswith(_DOWNWARDS)


def equal_parameters(items: list[Run]) -> int:
    """Number of runs of an experiment that have the kind and the parameters of another one: what differs is unsaid."""
    counts = Counter(json.dumps([item.tags.get("kind"), item.parameters], sort_keys=True) for item in items)
    return sum(count for count in counts.values() if count > 1)


def _references(settings: Settings) -> set[str]:
    """Methods that the others are measured by: the baselines of the task's key metrics, or GCC."""
    task = tasks().get(settings.get("task", ""))
    return {baseline for _, baseline in (task.key_metrics if task else ())} - {"none"} or {GCC}


def _key_metrics(settings: Settings, results: pd.DataFrame) -> dict[str, Hashable]:
    """Key metrics of a method, as `test_5/atom/cycles.ratio.gcc: down` -> row; `results`: its own, over all seeds.

    Their names say neither method nor decoder: all methods of the experiment have the same.
    """
    of_all = (results["lengths"] == "all") & (results["iterations"] == "none") & (results["comparison"] != "difference")
    rows = results[of_all & (results["judge"].isin(_JUDGES) | (results["judge"] == results["target"]))]
    ranks = {"set": ["all", *settings.get("sets", [])], "target": ["all", *settings.get("targets", [])]}
    ranks["decoder"] = list(_DECODERS)

    def rank(indexed: tuple[Hashable, Mapping[Hashable, Any]]) -> list[int]:
        row = indexed[1]
        return [names.index(row[column]) if row[column] in names else len(names) for column, names in ranks.items()]

    first: dict[str, Hashable] = {}
    task = tasks().get(settings.get("task", ""))
    for metric, baseline in task.key_metrics if task else ():
        chosen = rows[(rows["metric"] == metric) & (rows["baseline"] == baseline)]
        for index, row in sorted(chosen.to_dict("index").items(), key=rank):
            first.setdefault(_metric(row | {"judge": "none", "decoder": "none"}, "target"), index)
    return first


def columns(runs: list[Run]) -> list[str]:
    """The metrics that a table of these runs shows: key metrics."""
    return list(dict.fromkeys(name for run in runs for name in run.key_metrics))


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
    ended = datetime.fromisoformat(provenance.published).timestamp()
    began = ended if provenance.began == "unknown" else datetime.fromisoformat(provenance.began).timestamp()
    inputs = {} if isinstance(provenance.inputs, str) else provenance.inputs
    data = sets(settings, {Path(path): digest for path, digest in inputs.items()})
    return [replace(run, provenance=origin, data=data, worked=(began, ended)) for run in runs]


def sets(settings: Settings, digests: Mapping[Path, str]) -> dict[str, str]:
    """Sets of blocks or graphs of an experiment, among these files, -> SHA-256."""
    names = settings.get("sets", [])
    return {path.stem: digest for path, digest in digests.items() if path.parent.name == "sets" and path.stem in names}


def _entries(settings: Settings, key: str) -> dict[str, Any]:
    """Settings of methods or models by name; none where a benchmark recorded their names alone."""
    entries = settings.get(key)
    return dict(entries) if isinstance(entries, Mapping) else {}


def _parameters(place: dict[str, str], settings: Settings, method: Settings | None, name: str) -> dict[str, str]:
    """Place and all settings behind the numbers, their names joined by dots: `judges.atom.iterations`.

    Those of the method begin with `method.`, those of its network with `model.`, as `model.encoder.kind`; a network
    that is a method itself has the method's `name`.
    """
    networks = {key: value for section in _NETWORKS for key, value in _entries(settings, section).items()}
    network = (method or {}).get("model") or (method or {}).get("network") or name
    shared = {key: value for key, value in settings.items() if key not in _OF_OTHERS}
    parts = shared | {"method": method or {}, "model": networks.get(network, {})}
    return {key: str(value) for key, value in flat(parts).items()} | place


def _metrics(rows: pd.DataFrame, *columns: str) -> dict[str, float]:
    return {_metric(row, *columns): float(row["value"]) for row in rows.to_dict("records")}


def _metric(row: Mapping[Hashable, Any], *columns: str) -> str:
    """Name of a number: set, these columns and decoder, then metric, judge ..., as `test_5/beam/exact_match: up`."""
    place = [str(row[column]) for column in ("set", *columns, "decoder")]
    words = [place[0], *(word for word in place[1:] if word not in ("none", GCC))]
    return _directed("/".join([*words, tidy.name(row)]), row["metric"], row["comparison"] == "ratio")


def _directed(name: str, metric: str, ratio: bool = False) -> str:
    return f"{name}: up" if metric in _UP else name + _DOWNWARDS if ratio or metric in _DOWN else name
