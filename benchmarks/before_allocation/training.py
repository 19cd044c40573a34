"""Learn a portfolio of weights for the learned orders, from measured cycles of training functions that spill.

    python -m benchmarks.before_allocation.training FUNCTIONS WORK      # an hour; goes on where it stopped

FUNCTIONS: the folder that `python -m benchmarks.before_allocation` builds. First, an evolution strategy looks for the
weights that fit all training functions together best; then, from these, for those that fit each function best. All of
them are tried on all training functions. The portfolio is chosen greedily: first the weights of the fewest cycles in
the mean, then those that lower the mean of each function's best the most. Development functions say how much each
further member still brings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.spilling_functions import paths, stand
from benchmarks.before_allocation.together import WORST, fit
from learned_schedulers.blocks.before_allocation.learned_search import (
    POPULATION,
    Weights,
    shaped,
    strategy,
    untrained,
    write,
)
from learned_schedulers.blocks.before_allocation.policy import follow
from learned_schedulers.files import replacing

MEMBERS = 10  # of the portfolio
_SMALL = 400  # most instructions of a block on which weights are fitted together: larger ones take most of the time


def main(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv and a file for each function.")],
    work: Annotated[Path, typer.Argument(help="Folder for what is computed.")],
    together: Annotated[int, typer.Option(help="Generations of the search for all functions' weights.")] = 120,
    each: Annotated[int, typer.Option(help="Generations of the search for a function's own weights.")] = 5,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    limit: Annotated[int, typer.Option(help="Only so many functions of each set.")] = 1_000_000,
) -> None:
    """Search, try, choose, and write WORK/weights.safetensors."""
    for name in ("own", "tried"):
        (work / name).mkdir(parents=True, exist_ok=True)
    training, development = (paths(functions, chosen, limit) for chosen in ("training", "development"))
    small = paths(functions, "training", limit, _SMALL)
    common = fit(small, untrained(), together, jobs, work / "together.jsonl")
    with ProcessPoolExecutor(jobs) as pool:
        _all(pool, "search", [(_fit, path, work / "own", (common, each)) for path in training])
        fitting = [answer["weights"] for answer in _answers(work / "own", training)]
        weights = np.array([common.tolist(), *fitting])
        _all(pool, "try", [(_try, path, work / "tried", weights) for path in [*training, *development]])
    of_training, of_development = (
        np.array([answer["ratios"] for answer in _answers(work / "tried", of_set)])
        for of_set in (training, development)
    )
    chosen = portfolio(np.log(np.minimum(of_training, WORST)), MEMBERS)
    write(work / "weights.safetensors", Weights(weights[chosen], weights.std(0)))
    functions_tried = f"{len(of_training)} training and {len(of_development)} development functions"
    print(f"{functions_tried}, {len(weights)} weights")
    for count in range(1, MEMBERS + 1):
        best = [np.exp(np.log(of[:, chosen[:count]].min(1)).mean()) for of in (of_training, of_development)]
        print(f"best of {count:2}: training {best[0]:.4f}, development {best[1]:.4f} of the cycles of LLVM's default")


def portfolio(logs: np.ndarray, members: int) -> list[int]:
    """Greedily chosen columns of logarithms of ratios, (functions, weights): each lowers the mean of the least most."""
    chosen: list[int] = []
    least = np.full(len(logs), np.inf)
    for _ in range(min(members, logs.shape[1])):
        means = np.minimum(least[:, None], logs).mean(0)
        means[chosen] = np.inf
        chosen.append(int(means.argmin()))
        least = np.minimum(least, logs[:, chosen[-1]])
    return chosen


def _all(pool: ProcessPoolExecutor, name: str, tasks: Sequence[tuple[Callable[..., None], Any, Path, Any]]) -> None:
    """Do the tasks whose file is not there yet."""
    left = [task for task in tasks if not (task[2] / f"{task[1].stem}.json").exists()]
    runs = [pool.submit(*task) for task in left]
    for run in tqdm(runs, desc=name):
        run.result()


def _fit(path: Path, folder: Path, setting: tuple[np.ndarray, int]) -> None:
    """Write the weights that fit a function best. setting: weights to begin with, and generations."""
    best, generations = setting
    answer: dict[str, Any] | None = None
    with Bench() as bench:
        if (of := stand(path, bench)) is not None:
            moving = strategy(best, untrained().spread, np.random.default_rng(SEED))
            least = float(of.ratios([follow(of.problem, best)])[0])
            for _ in range(generations):
                drawn = moving.ask()
                ratios = of.ratios([follow(of.problem, shaped(each)) for each in drawn])
                moving.tell(drawn, np.log(ratios).tolist())
                if ratios.min() < least:
                    best, least = shaped(drawn[int(ratios.argmin())]), float(ratios.min())
            answer = {"weights": best.tolist(), "ratio": least, "evaluations": 1 + generations * POPULATION}
    _write(folder, path, answer)


def _try(path: Path, folder: Path, weights: np.ndarray) -> None:
    """Write the ratios of all weights for a function; equal orders are measured once."""
    answer = None
    with Bench() as bench:
        if (of := stand(path, bench)) is not None:
            orders = [follow(of.problem, each) for each in weights]
            distinct = list({order.tobytes(): order for order in orders}.values())
            ratios = dict(zip((order.tobytes() for order in distinct), of.ratios(distinct).tolist(), strict=True))
            answer = {"ratios": [ratios[order.tobytes()] for order in orders]}
    _write(folder, path, answer)


def _answers(folder: Path, paths: Sequence[Path]) -> list[Any]:
    """Of the functions that run and spill."""
    answers = [json.loads((folder / f"{path.stem}.json").read_text()) for path in paths]
    return [answer for answer in answers if answer is not None]


def _write(folder: Path, path: Path, answer: object) -> None:
    with replacing(folder / f"{path.stem}.json") as temporary:
        temporary.write_text(json.dumps(answer))


if __name__ == "__main__":
    typer.run(main)
