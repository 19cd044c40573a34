"""Log experiments to MLflow: the only door to it. Its store is this folder's or, by `MLFLOW_TRACKING_URI`, a team's."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
import yaml

from learned_schedulers.files import replacing
from pipeline.lab import digests, places, provenance, published, runs, tables
from pipeline.lab.shared_tables import HISTORY, RESULTS
from pipeline.lab.stages import experiment_tags, options, run_store
from pipeline.lab.stages.gather import gather

_LONGEST = 5000  # characters of a tag


def main(
    settings: options.Settings,
    log: Annotated[Path, typer.Option("--runs", help="JSON to write: names and fingerprints of the runs.")],
    results: options.SomeTables = None,
    history: options.SomeTables = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Of the same trainings as the histories.")] = None,
    folders: options.Published = None,
    data: options.SomeTables = None,
) -> None:
    """Log experiments to MLflow, each as one there: those of `results`, freshly evaluated, then published ones.

    Numbers without an experiment of the parameters, or without today's code (frozen), are in the report alone.
    An experiment has a run for each of its methods, the best first, and one that carries its tables; its trainings are
    folded up below that one. A run says its settings, its sets, its trial by DVC and where its numbers come from; its
    time is that of the work.
    Running it again changes nothing: a run with the same content stays. Where the content changed, the earlier run
    stays for comparison, tagged `state=superseded`, below the current one. `make dashboard` shows them. With
    `MLFLOW_TRACKING_URI` they are logged to a team's server (docs/team.md).
    """
    settings_now: dict[str, dict[str, Any]] = json.loads(settings)
    trained = {tuple(places.place(path, "weights").values()): path for path in weights or []}
    by_experiment: dict[str, list[runs.Run]] = {}
    for path in results or []:
        experiment, numbers = places.place(path, "results")["experiment"], tables.read(RESULTS, path)
        chosen = settings_now.get(experiment, {})
        digest_of = runs.sets(chosen, {file: digests.of_file(file) for file in data or []})
        items = [
            *runs.methods(experiment, chosen, numbers),
            *(
                _trained(file, trained, chosen, numbers)
                for file in sorted(history or [])
                if places.place(file, "history")["experiment"] == experiment
            ),
            runs.whole(experiment, chosen, {path: digests.of_file(path)}),
        ]
        worked = _worked(path, f"*/{experiment}/**/*.tsv")
        by_experiment[experiment] = [replace(item, data=digest_of, worked=item.worked or worked) for item in items]
    for folder in folders or []:
        if folder.name in by_experiment or "task" not in settings_now.get(folder.name, {}):
            continue
        source = provenance.Provenance.read(folder / published.PROVENANCE)
        if source.frozen:
            continue
        table = published.load([folder]).tables
        recorded = {} if isinstance(source.settings, str) else source.settings
        by_experiment[folder.name] = runs.published(
            source,
            settings_now[folder.name],
            *(table["results"], table["history"], table["policy_trainings"]),
            runs.whole(folder.name, recorded, {file: digests.of_file(file) for file in sorted(folder.iterdir())}),
        )
    if alike := [name for name, items in by_experiment.items() if runs.equal_parameters(items)]:
        raise ValueError(f"runs of {alike} have equal parameters: which settings differ would not be seen")
    if by_experiment:  # without runs the store is not touched
        with run_store.opened() as client:
            commit, dirty = provenance.commit()
            origin = {"git_commit": commit, "dirty": str(dirty), "processor": provenance.machine().text()}
            origin |= _trial()
            # MLflow's first page shows the experiments that were tracked last: here the freshly evaluated ones.
            fresh = {places.place(path, "results")["experiment"] for path in results or []}
            order = sorted(experiment_tags.in_order(by_experiment), key=lambda name: name not in fresh)
            for experiment in reversed(order):
                items = by_experiment[experiment]
                tags = experiment_tags.tags(experiment, items)
                run_store.track(client, experiment, tags, items, origin)
    listing = [
        {"experiment": experiment, "name": item.name, "fingerprint": item.fingerprint}
        for experiment, items in by_experiment.items()
        for item in items
    ]
    with replacing(log) as temporary:
        temporary.write_text(json.dumps({"runs": listing}, indent=1) + "\n")


def _trial() -> dict[str, str]:
    """Tags of a trial by `dvc exp run`: its name, and what it changed in the parameters; none without a trial."""
    if not (name := os.environ.get("DVC_EXP_NAME")):
        return {}
    committed = subprocess.run(["git", "show", "HEAD:params.yaml"], capture_output=True, text=True).stdout
    before, now = (provenance.flat(yaml.safe_load(text) or {}) for text in (committed, Path("params.yaml").read_text()))
    changed = [f"{key}={value}" for key, value in now.items() if before.get(key) != value]
    return {"trial": name, "changed": " ".join(changed)[:_LONGEST]}


def _worked(path: Path, rules: str) -> tuple[float, float]:
    """Begin and end of the work behind a table, seconds since 1970.

    It ended when the file was written; it began with the earliest of the jobs that Snakemake timed in these files of
    `benchmarks/rules`, where it made it.
    """
    ended = path.stat().st_mtime
    timed = [(file, pd.read_csv(file, sep="\t")["s"].sum()) for file in Path("benchmarks/rules").glob(rules)]
    return min([ended, *(file.stat().st_mtime - seconds for file, seconds in timed)]), ended


def _trained(
    path: Path, weights: dict[tuple[str, ...], Path], settings: dict[str, Any], results: pd.DataFrame
) -> runs.Run:
    """The run of the freshly evaluated network whose history lies in `path`."""
    place, history = places.place(path, "history"), gather(HISTORY, [path])
    file = weights[tuple(place.values())]
    hashes = {"history": digests.of_file(path), "weights": digests.of_file(file)}
    run = runs.network(place, settings, history, results)
    worked = _worked(file, f"train*/{'/'.join(place.values())}.tsv")
    return replace(run, hashes=hashes, files={"weights": [file]}, worked=worked)
