"""Learn a portfolio of weights for the learned orders, from the best orders that searches find for training functions.

    python -m benchmarks.before_allocation.training FUNCTIONS WORK      # half an hour; goes on where it stopped

FUNCTIONS: the folder that `python -m benchmarks.before_allocation` builds. Only functions are used for which LLVM's
default spills: elsewhere an order changes hardly anything. First, an evolution strategy looks for the weights that fit
each training function best, on measured cycles. Then all these weights are tried on all training functions. The
portfolio is chosen greedily: first the weights of the fewest cycles in the mean, then those that lower the mean of each
function's best the most. Development functions say how much each further member still brings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.orders import Stand
from benchmarks.before_allocation.subject import NotRunning, conditions, subject
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
_LARGEST = 1300  # instructions of a block: larger ones take too long to compile
_WORST = 1.5  # ratio to the default from which weights count no worse


def main(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv and a file for each function.")],
    work: Annotated[Path, typer.Argument(help="Folder for what is computed.")],
    generations: Annotated[int, typer.Option(help="Of the search for a function's own weights.")] = 5,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    limit: Annotated[int, typer.Option(help="Only so many functions of each set.")] = 1_000_000,
) -> None:
    """Search, try, choose, and write WORK/weights.safetensors."""
    for name in ("own", "tried"):
        (work / name).mkdir(parents=True, exist_ok=True)
    training, development = (_paths(functions, chosen, limit) for chosen in ("training", "development"))
    with ProcessPoolExecutor(jobs) as pool:
        _all(pool, "search", [(_fit, path, work / "own", generations) for path in training])
        fitting = [answer["weights"] for answer in _answers(work / "own", training)]
        weights = np.array([*fitting, untrained().portfolio[0].tolist()])
        _all(pool, "try", [(_try, path, work / "tried", weights) for path in [*training, *development]])
    of_training, of_development = (
        np.array([answer["ratios"] for answer in _answers(work / "tried", paths)]) for paths in (training, development)
    )
    chosen = portfolio(np.log(np.minimum(of_training, _WORST)), MEMBERS)
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


def _fit(path: Path, folder: Path, generations: int) -> None:
    """Write the weights that fit a function best."""
    answer: dict[str, Any] | None = None
    with Bench() as bench:
        if (stand := _stand(path, bench)) is not None:
            rng = np.random.default_rng(SEED)
            moving = strategy(untrained().portfolio[0], untrained().spread, rng)
            best, least = untrained().portfolio[0], np.inf
            for _ in range(generations):
                drawn = moving.ask()
                ratios = stand.ratios([follow(stand.problem, shaped(each)) for each in drawn])
                moving.tell(drawn, np.log(ratios).tolist())
                if ratios.min() < least:
                    best, least = shaped(drawn[int(ratios.argmin())]), float(ratios.min())
            answer = {"weights": best.tolist(), "ratio": least, "evaluations": generations * POPULATION}
    _write(folder, path, answer)


def _try(path: Path, folder: Path, weights: np.ndarray) -> None:
    """Write the ratios of all weights for a function; equal orders are measured once."""
    answer = None
    with Bench() as bench:
        if (stand := _stand(path, bench)) is not None:
            orders = [follow(stand.problem, each) for each in weights]
            distinct = list({order.tobytes(): order for order in orders}.values())
            ratios = dict(zip((order.tobytes() for order in distinct), stand.ratios(distinct).tolist(), strict=True))
            answer = {"ratios": [ratios[order.tobytes()] for order in orders]}
    _write(folder, path, answer)


def _stand(path: Path, bench: Bench) -> Stand | None:
    """What measures a function; None if it does not run here, or spills nothing."""
    of = subject(path)
    try:
        where = conditions(of, bench.native, bench.default)
    except NotRunning:
        return None
    if not sum(of.counts(bench.default)[1:]):
        return None
    return Stand(of, where, bench.native, bench.standing, bench.default, SEED)


def _paths(functions: Path, chosen: str, limit: int) -> list[Path]:
    table = pd.read_csv(functions / "functions.csv")
    rows = table[(table.set == chosen) & (table.block_instructions <= _LARGEST)]
    return [functions / f"{name}.ll" for name in rows.name.sample(frac=1, random_state=SEED)[:limit]]


def _answers(folder: Path, paths: Sequence[Path]) -> list[Any]:
    """Of the functions that run and spill."""
    answers = [json.loads((folder / f"{path.stem}.json").read_text()) for path in paths]
    return [answer for answer in answers if answer is not None]


def _write(folder: Path, path: Path, answer: object) -> None:
    with replacing(folder / f"{path.stem}.json") as temporary:
        temporary.write_text(json.dumps(answer))


if __name__ == "__main__":
    typer.run(main)
