"""Log published imitations to MLflow: what was trained once is on the dashboard wherever the repository is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.config.imitation import Imitation
from pipeline.config.section import section
from pipeline.evidence import runs
from pipeline.stages.command import run
from pipeline.stages.gather import published
from pipeline.stages.track import record


def main(
    settings: Annotated[str, typer.Option(help="Section `imitations` of the parameters, as JSON.")],
    out: Annotated[Path, typer.Option(help="JSON to write: names and fingerprints of the runs.")],
    earlier: Annotated[str, typer.Option("--published", help="CSV files of reports/published, by spaces.")] = "",
) -> None:
    """Log published imitations to MLflow: a flat run for each model and seed, tagged by experiment. Trains nothing."""
    old, chosen = published(map(Path, earlier.split())), section(dict[str, Imitation], settings)
    results, history = old["results"], old["history"]
    wanted = {}
    for experiment, imitation in chosen.items():
        rows = results[results["experiment"] == experiment]
        trained = rows[(rows["decoder"] != "none") & (rows["seed"] != "all")]
        pairs = sorted(set(zip(trained["scheduler"], trained["seed"], strict=True)))
        curves = history[history["experiment"] == experiment]
        items = [
            runs.imitator(
                {"experiment": experiment, "model": model, "seed": seed},
                imitation.models.get(model),
                curves[(curves["model"] == model) & (curves["seed"] == seed)],
                rows,
            )
            for model, seed in pairs
        ]
        if items:
            wanted[experiment] = items
    record(wanted, out)


if __name__ == "__main__":
    run(main)
