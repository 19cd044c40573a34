"""TorchInductor's fusion decided from outside, by run time on this machine: `python -m benchmarks.inductor`.

Networks learn by the cost model of fusion from the training models (graphs/compilers/inductor/models.py). For each
unseen model every method, and each network, has 24 compilations: no fusion, random levels, the largest shared
results first, a search by measured time, the network unchanged, and fine-tuned on the model. Each candidate is compiled
in a fresh process with a folder of its own for compiled code, compared with eager results, and timed in turns with the
default on one core. The best of each method is picked in that first series, and timed in later series of processes with
a control: the default in a second process. An hour of two cores; measurements are stored under data/inductor, and a
second call continues. The machine should do nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.stats import spearmanr
from tqdm import tqdm

from benchmarks.inductor.measuring import DEFAULT, Workshop
from benchmarks.inductor.methods import COMPILATIONS, LEARNED, METHODS, Trials, try_method
from benchmarks.inductor.proposals import Compiler, trained
from benchmarks.publishing import PUBLISHED, of_rounds, publish
from learned_schedulers.graphs.compilers.inductor.available import missing
from learned_schedulers.graphs.compilers.inductor.models import MODELS
from learned_schedulers.graphs.models.fusing.fusing_network import load, save
from pipeline.lab.ratios import RatioBootstrap
from pipeline.lab.rows import Quantity, Row, results, row

CONTROL, BEST = "control", "best"
CONTROL_HIGH = "control_high"  # the upper end of the control's interval
JUDGE = "hardware"
SAMPLES, CONFIDENCE = 1000, 0.95
Attempts = dict[tuple[str, int], Trials]  # method, seed -> its candidates of a model
Times = dict[str, dict[str, np.ndarray]]  # model -> method -> (seeds * series,) time over the default's


def network_file(folder: Path, workshops: dict[str, Workshop], seed: int) -> Path:
    """The network that learned from the training models; it is trained if its file is missing."""
    path = folder / f"network_{seed}.safetensors"
    if not path.exists():
        compiler = Compiler([workshop.nodes() for workshop in workshops.values()])
        save(trained(compiler, seed), path)
    return path


def last_series(workshop: Workshop, attempts: Attempts, series: int, rounds: int) -> dict[str, np.ndarray]:
    """Times over the default's in each later series: of the control, of each method's best, and of the best of all."""
    picks = {key: candidates.best for key, candidates in attempts.items() if candidates.names}
    timed_candidates = [
        pair for candidates in attempts.values() for pair in zip(candidates.ratios, candidates.names, strict=True)
    ]
    picks[BEST, 0] = min(timed_candidates)[1]
    chosen = list(dict.fromkeys(picks.values()))
    ratios: dict[str, list[float]] = {method: [] for method, _ in [(CONTROL, 0), *picks]}
    for number in range(series):
        times = workshop.timed([DEFAULT, DEFAULT, *chosen], rounds, f"later_{number}")
        over = {name: float(np.median(seconds / times[DEFAULT])) for name, seconds in times.items()}
        ratios[CONTROL].append(over[f"{DEFAULT} again"])
        for (method, _), name in picks.items():
            ratios[method].append(over[name])
    return {method: np.array(values) for method, values in ratios.items()}


def rows_of(
    experiment: str, times: Times, attempts_by_model: dict[str, Attempts], kernels: dict[str, dict[str, int]]
) -> Iterator[Row]:
    """Table `results`: `set` is a model, or all of them."""
    models = list(times)
    bootstrap = RatioBootstrap(models, SAMPLES, CONFIDENCE)
    place = {"experiment": experiment, "target": "this_machine", "seed": "all"}
    quantity = Quantity("run_time", "ratio", DEFAULT, JUDGE)
    for model in models:
        for method, ratios in times[model].items():
            yield of_rounds(place | {"set": model, "method": method}, quantity, ratios, over="seeds and series")
        for method, count in kernels[model].items():
            yield row(place | {"set": model, "method": method}, Quantity("kernels", unit="count"), float(count), n=1)
    by_method = {method: _logarithms(times, method) for method in [CONTROL, *METHODS, BEST]}
    whole = {method: bootstrap.estimates(values)[1] for method, values in by_method.items()}
    for method, estimate in whole.items():
        numbers = (*np.exp([estimate.value, estimate.low, estimate.high]).tolist(), estimate.n)
        yield row(place | {"method": method}, quantity, *numbers, over="models, seeds and series")
        if method in LEARNED:
            ends = np.array(numbers[:3]) / np.exp(whole[CONTROL].high)
            beyond = quantity._replace(baseline=CONTROL_HIGH)
            yield row(place | {"method": method}, beyond, *ends.tolist(), estimate.n, over="models, seeds and series")
    if -whole[BEST].high > -whole[CONTROL].low:  # the lower end of the head room is beyond what the control saves
        for method in METHODS:
            yield _share(place | {"method": method}, by_method[method], by_method[BEST], bootstrap)
    ranks = np.array([_rank(attempts_by_model[model]) for model in models])
    over_all = bootstrap.estimates(ranks[None])[1]
    numbers = (over_all.value, over_all.low, over_all.high, over_all.n)
    correlation = Quantity("rank_correlation", judge=JUDGE)
    yield row(place | {"method": "fusion_cost"}, correlation, *numbers, over="models")


def _logarithms(times: Times, method: str) -> np.ndarray:
    """(seeds * series, models); NaN where a model has no candidate of the method."""
    count = max(len(ratios[method]) for ratios in times.values() if method in ratios)
    nothing = np.full(count, np.nan)
    return np.log([ratios.get(method, nothing) for ratios in times.values()]).T


def _share(place: Mapping[str, str], ratios: np.ndarray, best: np.ndarray, bootstrap: RatioBootstrap) -> Row:
    """sum(1 - time / default's) / sum(1 - best's time / default's); series of one method are paired with the best's."""
    best_savings = np.tile(1 - np.exp(best), (len(ratios) // len(best), 1))
    estimate = bootstrap.ratio(1 - np.exp(ratios), best_savings)
    quantity = Quantity("share_of_head_room", baseline=DEFAULT, judge=JUDGE)
    return row(
        place, quantity, estimate.value, estimate.low, estimate.high, estimate.n, over="models, seeds and series"
    )


def _rank(attempts: Attempts) -> float:
    """Rank correlation of expected and measured time over a model's candidates; NaN where all are expected alike."""
    pairs = {
        name: (expected, ratio)
        for candidates in attempts.values()
        for name, expected, ratio in zip(candidates.names, candidates.expected, candidates.ratios, strict=True)
        if np.isfinite(expected)
    }
    expected, ratios = np.array(list(pairs.values())).T
    return float(spearmanr(expected, ratios).statistic) if len(set(expected.tolist())) > 2 else np.nan


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "inductor",
    folder: Annotated[Path, typer.Option(help="Where compiled candidates and their times are kept.")] = Path(
        "data/inductor"
    ),
    core: Annotated[int, typer.Option(help="Processor core that candidates are timed on.")] = 1,
    rounds: Annotated[int, typer.Option(help="In which all candidates of a series are timed in turns.")] = 25,
    series: Annotated[int, typer.Option(help="Later series, of fresh processes.")] = 3,
    seeds: Annotated[int, typer.Option(help="Networks that are trained, each with its 24 compilations.")] = 3,
    only: Annotated[list[str] | None, typer.Option(help="An unseen model; by default all. Repeatable.")] = None,
) -> None:
    """Learn, propose, compile, time, and publish."""
    if lacking := missing():
        raise typer.BadParameter(lacking)
    training = {name: Workshop(folder, name, core) for name, model in MODELS.items() if not model.unseen}
    networks = [network_file(folder, training, seed) for seed in range(seeds)]
    attempts_by_model: dict[str, Attempts] = {}
    times: Times = {}
    kernels: dict[str, dict[str, int]] = {}
    unseen = [name for name, model in MODELS.items() if model.unseen and (not only or name in only)]
    for name in tqdm(unseen, desc="models"):
        workshop = Workshop(folder, name, core)
        nodes = workshop.nodes()
        compiler = Compiler([nodes])
        problem = compiler.problems[0]
        default = compiler.all_alike(problem).plan.kernels
        if default == problem.n:
            print(f"{name}: Inductor has nothing to fuse")
            continue
        attempts_by_model[name] = {
            (method, seed): try_method(
                method,
                workshop,
                nodes,
                compiler,
                problem,
                partial(load, networks[seed]),
                rounds,
                np.random.default_rng([seed, *name.encode(), *method.encode()]),
            )
            for method in METHODS
            for seed in (range(seeds) if method in LEARNED else [0])
        }
        times[name] = last_series(workshop, attempts_by_model[name], series, rounds)
        kernels[name] = {DEFAULT: default, "forbid_all": problem.n}
        medians = {method: round(float(np.median(ratios)), 4) for method, ratios in times[name].items()}
        print(json.dumps({name: medians}))
    table = results(rows_of(output.name, times, attempts_by_model, kernels))
    shown = table[table["set"] == "all"][["method", "metric", "baseline", "value", "low", "high", "n"]]
    print(shown.to_string(index=False))
    settings = {"rounds": rounds, "series": series, "compilations": COMPILATIONS, "seeds": seeds}
    publish(output, {"results": table}, settings, weights=networks)


if __name__ == "__main__":
    typer.run(main)
