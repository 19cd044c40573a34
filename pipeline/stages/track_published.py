"""Log published experiments to MLflow: what was run once is on the dashboard wherever the repository is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline.analysis import runs
from pipeline.analysis.cycles import EXPERIMENT
from pipeline.config.ordering import Imitation
from pipeline.config.schedulers import Scheduling
from pipeline.config.section import section
from pipeline.stages.command import run
from pipeline.stages.gather import published
from pipeline.stages.track import record


def main(
    imitations: Annotated[str, typer.Option(help="Section `imitations` of the parameters, as JSON.")],
    scheduling: Annotated[str, typer.Option(help="Section `scheduling` of the parameters, as JSON.")],
    out: Annotated[Path, typer.Option(help="JSON to write: names and fingerprints of the runs.")],
    earlier: Annotated[str, typer.Option("--published", help="CSV files of reports/published, by spaces.")] = "",
) -> None:
    """Log what was published to MLflow, tagged by experiment: a flat run for each imitator and seed, one for each
    scheduler on processor models. Trains and schedules nothing.
    """
    old = published(map(Path, earlier.split()))
    results, history = old["results"], old["history"]
    wanted = {
        name: _imitators(name, one, results, history) for name, one in section(dict[str, Imitation], imitations).items()
    }
    wanted[EXPERIMENT] = _schedulers(section(Scheduling, scheduling), results)
    record({experiment: items for experiment, items in wanted.items() if items}, out)


def _imitators(experiment: str, imitation: Imitation, results: pd.DataFrame, history: pd.DataFrame) -> list[runs.Run]:
    rows = results[results["experiment"] == experiment]
    trained = rows[(rows["decoder"] != "none") & (rows["seed"] != "all")]
    curves = history[history["experiment"] == experiment]
    return [
        runs.imitator(
            {"experiment": experiment, "model": model, "seed": seed},
            imitation.models.get(model),
            curves[(curves["model"] == model) & (curves["seed"] == seed)],
            rows,
        )
        for model, seed in sorted(set(zip(trained["scheduler"], trained["seed"], strict=True)))
    ]


def _schedulers(scheduling: Scheduling, results: pd.DataFrame) -> list[runs.Run]:
    rows = results[(results["experiment"] == EXPERIMENT) & (results["seed"] == "all")]
    return [
        runs.scheduler(
            {"experiment": EXPERIMENT, "scheduler": name},
            scheduling.schedulers.get(name) or scheduling.models.get(name),
            rows[rows["scheduler"] == name],
        )
        for name in sorted(set(rows["scheduler"]) - {"none"})  # `none`: of no scheduler, as how a model ranks orders
    ]


if __name__ == "__main__":
    run(main)
