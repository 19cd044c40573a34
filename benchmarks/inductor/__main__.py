"""TorchInductor's fusion decided from outside, by run time on this machine: `python -m benchmarks.inductor`.

A network learns by the cost of fusion from the training models (pipeline/graphs/compilers/inductor/models.py). For each
unseen model every method has 24 compilations: no fusion, random levels, the largest shared results first, a search by
measured time, the network as it is, and fine-tuned on the model. Each candidate is compiled in a fresh process with a
folder of its own for compiled code, compared with eager results, and timed in turns with the default on one core. The
best of each method is picked in that first series, and timed in later series of processes with a control: the default
in a second process. Hours of one core; what was measured is kept under data/inductor, and a second call goes on.
Best on a machine that does nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.stats import spearmanr
from tqdm import tqdm

from benchmarks.inductor.measuring import DEFAULT, Workshop
from benchmarks.inductor.methods import COMPILATIONS, METHODS, Tried, try_method
from benchmarks.inductor.proposals import Compiler, trained
from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.clusters import ClusterBootstrap
from pipeline.analysis.rows import Quantity, Row, estimated, results, row
from pipeline.graphs.compilers.inductor.available import missing
from pipeline.graphs.compilers.inductor.models import MODELS
from pipeline.graphs.models.fusing.files import load, save

CONTROL, BEST = "control", "best"
JUDGE = "hardware"
Times = dict[str, dict[str, np.ndarray]]  # model -> method -> (series,) time over the default's
SAMPLES, CONFIDENCE = 1000, 0.95


def names(unseen: bool, least: int) -> list[str]:
    """Models, those with a decision to make."""
    return [name for name, model in MODELS.items() if model.unseen == unseen][: least or None]


def network_file(folder: Path, workshops: dict[str, Workshop], seed: int) -> Path:
    """The network that learned from the training models; trained where it is not there."""
    path = folder / f"network_{seed}.safetensors"
    if not path.exists():
        compiler = Compiler([workshop.nodes() for workshop in workshops.values()])
        save(trained(compiler, seed), path)
    return path


def last_series(workshop: Workshop, tried: dict[str, Tried], series: int, rounds: int) -> dict[str, np.ndarray]:
    """The control's, each method's best's, and the best of all's time over the default's, in each later series."""
    picks = {method: own.best for method, own in tried.items() if own.names}
    every = [(ratio, name) for own in tried.values() for ratio, name in zip(own.ratios, own.names, strict=True)]
    picks[BEST] = min(every)[1]
    chosen = list(dict.fromkeys(picks.values()))
    found: dict[str, list[float]] = {name: [] for name in [CONTROL, *picks]}
    for number in range(series):
        times = workshop.timed([DEFAULT, DEFAULT, *chosen], rounds, f"later_{number}")
        ratios = {name: float(np.median(own / times[DEFAULT])) for name, own in times.items()}
        found[CONTROL].append(ratios[f"{DEFAULT} again"])
        for method, name in picks.items():
            found[method].append(ratios[name])
    return {name: np.array(values) for name, values in found.items()}


def rows_of(
    experiment: str, times: Times, tried: dict[str, dict[str, Tried]], kernels: dict[str, dict[str, int]]
) -> Iterator[Row]:
    """Table `results`: `set` is a model, or all of them; seeds are the later series."""
    models = list(times)
    bootstrap = ClusterBootstrap(models, SAMPLES, CONFIDENCE)
    place = {"experiment": experiment, "set": "all", "target": "this_machine"}
    what = Quantity("run_time", "ratio", DEFAULT, JUDGE)
    for method in [CONTROL, *METHODS, BEST]:
        by_series = {
            number: np.log([times[model][method][number] if method in times[model] else np.nan for model in models])
            for number in range(len(times[models[0]][CONTROL]))
        }
        whole = [
            one
            for one in estimated(place | {"method": method}, what, by_series, bootstrap, np.exp)
            if one["seed"] == "all"
        ]
        yield from (one | {"interval_of": "models and series"} for one in whole)
        for model in models:
            if method in times[model]:
                own = times[model][method]
                numbers = (float(np.median(own)), float(own.min()), float(own.max()), len(own))
                yield row(place | {"set": model, "method": method, "seed": "all"}, what, *numbers, over="series")
    for model, by_method in kernels.items():
        for method, count in by_method.items():
            yield row(place | {"set": model, "method": method, "seed": "all"}, Quantity("kernels"), float(count), n=1)
    ranks = np.array([_rank(tried[model]) for model in models])
    _, over_all = bootstrap.estimates(ranks[None])
    numbers = (over_all.value, over_all.low, over_all.high, over_all.n)
    yield row(
        place | {"method": "fusion_cost", "seed": "all"},
        Quantity("rank_correlation", judge=JUDGE),
        *numbers,
        over="models",
    )


def _rank(tried: dict[str, Tried]) -> float:
    """Rank correlation of expected and measured time over a model's candidates; NaN where all are expected alike."""
    pairs = {
        name: (expected, ratio)
        for own in tried.values()
        for name, expected, ratio in zip(own.names, own.expected, own.ratios, strict=True)
        if np.isfinite(expected)
    }
    expected, ratios = np.array(list(pairs.values())).T
    return float(spearmanr(expected, ratios).statistic) if len(set(expected.tolist())) > 2 else np.nan


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "inductor",
    folder: Annotated[Path, typer.Option(help="Where compiled candidates and their times are kept.")] = Path(
        "data/inductor"
    ),
    core: Annotated[int, typer.Option(help="Processor core that candidates run on.")] = 1,
    rounds: Annotated[int, typer.Option(help="In which all candidates of a series are timed in turns.")] = 25,
    series: Annotated[int, typer.Option(help="Later series, of fresh processes.")] = 3,
    models: Annotated[int, typer.Option(help="Only the first so many unseen models; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the network and of everything drawn.")] = 0,
) -> None:
    """Learn, propose, compile, time, and publish."""
    if lacking := missing():
        raise typer.BadParameter(lacking)
    training = {name: Workshop(folder, name, core) for name in names(unseen=False, least=0)}
    network = network_file(folder, training, seed)
    tried: dict[str, dict[str, Tried]] = {}
    times: Times = {}
    kernels: dict[str, dict[str, int]] = {}
    for rank, name in enumerate(tqdm(names(unseen=True, least=models), desc="models")):
        workshop = Workshop(folder, name, core)
        workshop.compiled(None)
        nodes = workshop.nodes()
        compiler = Compiler([nodes])
        problem = compiler.problems[0]
        if len(compiler.all_alike(problem).plan.kernel) == compiler.all_alike(problem).plan.kernels:
            print(f"{name}: Inductor has nothing to fuse")
            continue
        tried[name] = {
            method: try_method(
                method,
                workshop,
                nodes,
                compiler,
                problem,
                lambda: load(network),
                rounds,
                np.random.default_rng([seed, rank, *method.encode()]),
            )
            for method in METHODS
        }
        times[name] = last_series(workshop, tried[name], series, rounds)
        kernels[name] = {DEFAULT: compiler.all_alike(problem).plan.kernels, "forbid_all": problem.n}
        print(json.dumps({name: {method: round(float(np.median(own)), 4) for method, own in times[name].items()}}))
    table = results(rows_of(output.name, times, tried, kernels))
    shown = table[table["set"] == "all"][["method", "metric", "value", "low", "high", "n"]]
    print(shown.to_string(index=False))
    settings = {"rounds": rounds, "series": series, "compilations": COMPILATIONS, "seed": seed}
    publish(output, {"results": table}, settings, ["benchmarks.inductor.__main__"], weights=[network])


if __name__ == "__main__":
    typer.run(main)
