"""Freeze an experiment beside the report: its tables as CSV files, with their provenance."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from safetensors import safe_open

from pipeline.corpus.tables import SETS
from pipeline.lab import behaviour as behaviours
from pipeline.lab import chapters, places, published, rows, tables
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather

_SINGLE = (  # published as they are
    *("results", "parts"),
    *("gantts", "memory_curves", "kept_points", "placed_operations", "fused_operations"),
)
_PLACED = ("history", "block_outcomes", "sweep")  # the names in their paths become columns
_SUMMARIES = chapters.modules("summaries")  # of tables that are too large to be published, by `summaries`
_TRAININGS = {  # history of one training -> the published table of all trainings
    history: name
    for name in chapters.tables()
    if (history := name.replace("_trainings", "_history")) != name and history in chapters.tables()
}
KINDS = (
    *_SINGLE,
    *_PLACED,
    *(kind for module in _SUMMARIES for kind in module.KINDS),
    *_TRAININGS,
)  # names of places.py
Paths = dict[str, list[Path]]  # by kind


def main(
    experiment: options.Name,
    measured: Annotated[list[Path], typer.Option("--tables", help=f"Any of {', '.join(KINDS)}, at their places.")],
    settings: options.Settings,
    out: Annotated[Path, typer.Option(help="Folder to write: reports/published/<experiment>.")],
    behaviour: Annotated[Path | None, typer.Option(help="Digests of the tiny corpus's tables; none: measured.")] = None,
    alike: Annotated[list[str] | None, typer.Option(help="Folders of those that the same code made.")] = None,
    inputs: Annotated[list[Path] | None, typer.Option(help="Further data whose digests are recorded.")] = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Weights of its trainings.")] = None,
) -> None:
    """Freeze an experiment that runs once: later reports show its numbers without running it again.

    The path of a table tells its kind. The sizes of an imitation's networks, of their files and of their training sets
    become rows of the results, set `training`. Numbers have six significant digits; the folder is written whole or not
    at all.
    """
    chosen = json.loads(settings)
    by_kind = places.by_kind(measured, KINDS)
    frames: dict[str, pd.DataFrame] = {}
    every = chapters.tables()
    for kind, paths in by_kind.items():
        if kind in _SINGLE:
            frames[kind] = pd.concat([tables.read(every[kind], path) for path in paths], ignore_index=True)
        elif kind in _PLACED:
            frames[kind] = gather(every[kind], sorted(paths))[published.columns(every[kind])]
    for module in _SUMMARIES:
        if by_kind.keys() & set(module.KINDS):
            frames |= module.summaries(*(tables.read(every[kind], by_kind[kind][0]) for kind in module.KINDS))
    for kind, name in _TRAININGS.items():
        if kind in by_kind:
            frames[name] = gather(every[kind], sorted(by_kind[kind]))
    if chosen.get("task") == "imitation" and weights:
        sizes = _sizes(experiment, chosen["models"], sorted(weights), inputs or [])
        frames["results"] = pd.concat([frames["results"], sizes], ignore_index=True)
    if "results" in frames and (names := set(frames["results"]["experiment"]) - {experiment}):
        raise ValueError(f"the results are of {sorted(names)}, not of {experiment}: publish each under its own name")
    tables_now = {} if behaviour is None else behaviours.below(behaviours.read(behaviour), alike or [])
    published.write(out, frames, chosen, tables_now, [*measured, *(inputs or [])], weights or [])


def _sizes(experiment: str, models: dict[str, dict], weights: list[Path], inputs: list[Path]) -> pd.DataFrame:
    """Rows of results: parameters, bytes of the file and training blocks of every model, as means over its seeds."""
    sets = [path for path in inputs if path.parent.name == "sets"]
    n_blocks = {places.place(path, "sets")["set"]: tables.RowGroups(SETS, path).n_rows for path in sets}
    sizes = []
    for path in weights:
        model = places.place(path, "weights")["model"]
        training = models[model]["training"]
        if training not in n_blocks:
            raise ValueError(f"{model} was trained on the set {training}: name its table among --inputs")
        drawn = min(n_blocks[training], models[model].get("blocks") or n_blocks[training])
        values = {"parameters": _parameters(path), "train_blocks": drawn, "weights_bytes": path.stat().st_size}
        sizes += [(model, drawn, *size) for size in values.items()]
    means = pd.DataFrame(sizes, columns=["method", "n", "metric", "value"])
    means = means.groupby(["method", "metric"], as_index=False).agg({"value": "mean", "n": "max"})
    place = {"experiment": experiment, "set": "training", "target": "gcc", "seed": "all"}
    return rows.results(
        rows.row(place, mean["metric"], mean["value"], n=mean["n"], method=mean["method"])
        for mean in means.to_dict("records")
    )


def _parameters(path: Path) -> int:
    """Number of parameters in a file of weights."""
    with safe_open(path, "numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - no mapping
