"""The quality of splits of profiled workloads: `python -m benchmarks.workload_splits`.

Workloads of Tarnawski et al. 2020 are split by the files' own objectives and rules, as by the command `split`: by the
programme, whose largest loads are proven where it says so; by GO and by its random moves, from the programme's best
split along one order (the command's default) and from nothing decided (`--start open`). A split that comes with the
files is judged by the same rules.

It publishes milliseconds, and times over the proven optimum and over the programme: means over seeds, the least and the
most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.graphs.corpus.workloads import Workload, read_workload
from pipeline.graphs.plans.splits import split_files
from pipeline.graphs.plans.splits.by_go import Start, searched
from pipeline.graphs.plans.splits.judging_splits import OBJECTIVES, Objective, broken, cost
from pipeline.graphs.plans.splits.programme import least

EXPERT, PROGRAMME, OPTIMUM = "expert", "programme", "optimum"
SEARCHES: dict[str, tuple[bool, Start]] = {  # method -> whether it learns, where it starts
    "go": (True, "programme"),
    "go_untaught": (False, "programme"),
    "go_open": (True, "open"),
    "go_untaught_open": (False, "open"),
}


class Splits(NamedTuple):
    """Splits of one workload by one objective: seconds of each seed by method; of the optimum where it is proven."""

    workload: str
    objective: Objective
    seconds: dict[str, list[float]]
    broken: dict[str, int]  # rules that a split breaks


def solved(work: Workload, objective: Objective, seeds: range, evaluations: int, expert: Path) -> Splits:
    """Splits by all methods; infinite where a method has no split that satisfies the rules."""
    programme = least(work, objective)
    seconds = {PROGRAMME: [programme.seconds]}
    faults = {PROGRAMME: 0 if programme.devices is None else len(broken(work, programme.devices, objective))}
    if programme.exact:
        seconds[OPTIMUM] = [programme.seconds]
    if expert.exists():
        devices = split_files.read(expert, work)
        seconds[EXPERT] = [cost(work, devices, objective)]
        faults[EXPERT] = len(broken(work, devices, objective))
    for method, (learns, start) in SEARCHES.items():
        searches = [searched(work, objective, seed, evaluations, None, learns, start) for seed in seeds]
        seconds[method] = [search_result.seconds for search_result in searches]
        faults[method] = sum(
            len(broken(work, search_result.devices, objective))
            for search_result in searches
            if search_result.devices is not None
        )
    return Splits(work.graph.name, objective, seconds, faults)


def rows_of(experiment: str, all_splits: list[Splits]) -> Iterator[Row]:
    """Table `results`: `set` is the workload, or all of them; `target` the objective."""
    for splits in all_splits:
        place = {"experiment": experiment, "set": splits.workload, "target": splits.objective, "seed": "all"}
        for method, seconds in splits.seconds.items():
            yield _over_seeds(place | {"method": method}, Quantity("objective", unit="ms"), 1e3 * np.array(seconds))
            if method in splits.broken:
                yield row(
                    place | {"method": method}, Quantity("rules_broken", unit="count"), splits.broken[method], n=1
                )
            for baseline in {OPTIMUM, PROGRAMME} & set(splits.seconds) - {method}:
                ratios = np.array(seconds) / splits.seconds[baseline][0]
                yield _over_seeds(place | {"method": method}, _over(baseline), ratios)
    for objective in OBJECTIVES:
        for baseline in (OPTIMUM, PROGRAMME):
            inside = [splits for splits in all_splits if splits.objective == objective and baseline in splits.seconds]
            for method in SEARCHES if inside else ():
                by_workload = [np.array(splits.seconds[method]) / splits.seconds[baseline][0] for splits in inside]
                place = {"experiment": experiment, "set": "all", "target": objective, "seed": "all", "method": method}
                ratios = np.exp(np.log(by_workload).mean(0))  # (seeds,)
                yield _over_seeds(place, _over(baseline), ratios, len(inside))


def _over(baseline: str) -> Quantity:
    return Quantity("objective", "ratio", baseline, "simulator")


def _over_seeds(place: dict[str, str], quantity: Quantity, values: np.ndarray, n: int = 1) -> Row:
    """The geometric mean of (seeds,) numbers with the least and the most."""
    value = float(np.exp(np.log(values).mean()))
    if len(values) == 1:
        return row(place, quantity, value, n=n)
    return row(place, quantity, value, values.min(), values.max(), n, over="seeds")


def main(
    folder: Annotated[Path, typer.Argument(help="Of workloads, and splits NAME_expert.json.")] = Path(
        "tests/fixtures/graphs"
    ),
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "workload_splits",
    seeds: Annotated[int, typer.Option(help="Seeds of every search.")] = 5,
    evaluations: Annotated[int, typer.Option(help="Splits that a search tries.")] = 2000,
) -> None:
    """Split every workload of a folder by every method, and publish."""
    files = [path for path in sorted(folder.glob("*.json")) if not path.stem.endswith("_expert")]
    if not files:
        raise typer.BadParameter(f"{folder}: no workload; name a folder with WORKLOAD.json files")
    all_splits = []
    for path in tqdm(files, desc="workloads"):
        work = read_workload(path)
        for objective in OBJECTIVES:
            if objective == "load" or not work.backward.any():
                expert = path.with_name(f"{path.stem}_expert.json")
                all_splits.append(solved(work, objective, range(seeds), evaluations, expert))
    table = results(rows_of(output.name, all_splits))
    print(table[["set", "target", "method", "metric", "baseline", "value", "low", "high"]].to_string(index=False))
    options = {"seeds": seeds, "evaluations": evaluations}
    publish(output, {"results": table}, options, ["benchmarks.workload_splits"], files)


if __name__ == "__main__":
    typer.run(main)
