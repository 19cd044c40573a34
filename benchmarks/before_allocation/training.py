"""Learn the weights of the learned orders, from measured cycles of training functions that spill.

    python -m benchmarks.before_allocation.training FUNCTIONS WORK      # an hour; goes on where it stopped

FUNCTIONS: the folder that `python -m benchmarks.before_allocation` builds. An evolution strategy looks for the weights
whose orders take the fewest cycles over LLVM's default, in the mean of all training functions. Development functions
say what the weights are worth elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import trange

from benchmarks.before_allocation.bench import SEED
from benchmarks.before_allocation.spilling_functions import paths
from benchmarks.before_allocation.team import Team
from learned_schedulers.blocks.before_allocation.learned_search import (
    Weights,
    read,
    shaped,
    strategy,
    untrained,
    write,
)

_SMALL = 400  # most instructions of a training function's block: larger ones take most of the time
_WORST = 1.5  # ratio to the default from which weights count no worse
_SPREAD = 1.0  # of a search around the weights


def main(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv and a file for each function.")],
    work: Annotated[Path, typer.Argument(help="Folder for what is computed.")],
    generations: Annotated[int, typer.Option(help="Of the evolution.")] = 140,
    go_on: Annotated[bool, typer.Option("--go-on", help="Begin with the weights in the package.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    limit: Annotated[int, typer.Option(help="Only so many functions of each set.", min=1)] = 1_000_000,
) -> None:
    """Evolve, and write WORK/weights.safetensors."""
    work.mkdir(parents=True, exist_ok=True)
    start = read() if go_on else untrained()
    centre = _evolved(Team(paths(functions, "training", limit, _SMALL), jobs), start, generations, work / "means.jsonl")
    write(work / "weights.safetensors", Weights(centre, np.full(centre.shape, _SPREAD)))
    for chosen in ("training", "development"):
        with Team(paths(functions, chosen, limit), jobs) as team:
            ratios = team.ratios(centre[None])[:, 0]
        mean = np.exp(np.log(ratios).mean())
        print(f"{chosen}: {mean:.4f} of the cycles of LLVM's default, {len(ratios)} functions that spill")


def _evolved(team: Team, start: Weights, generations: int, log: Path) -> np.ndarray:
    """The centre of the strategy at its end; log: a line for each generation, from which an earlier run goes on."""
    moving = strategy(start, np.random.default_rng(SEED))
    earlier = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for means in earlier[:generations]:
        moving.tell(moving.ask(), means)
    with team, log.open("a") as file, trange(len(earlier), generations, desc="generations") as progress:
        for _ in progress:
            drawn = moving.ask()
            ratios = team.ratios(np.array([shaped(each) for each in drawn]))
            if not len(ratios):
                raise SystemExit("no training function that was tried spills and runs here; raise --limit")
            means = np.log(np.minimum(ratios, _WORST)).mean(0).tolist()
            moving.tell(drawn, means)
            file.write(json.dumps(means) + "\n")
            file.flush()
            progress.set_postfix(mean=f"{np.exp(np.mean(means)):.4f}", best=f"{np.exp(min(means)):.4f}")
    return shaped(moving.mean)


if __name__ == "__main__":
    typer.run(main)
