"""A method's result on a set and a target, in a file that is handed in, and how it stands to the baseline.

The file has the schedules that count. `read` judges them anew, and believes only what they do not show: seconds and
evaluations.
"""

from __future__ import annotations

import datetime as dates
import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from learned_schedulers.bench.apart import Allowance, Apart
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.instances import SETS, check_target, digest, instances
from learned_schedulers.bench.peers import baseline
from learned_schedulers.bench.provenance import Provenance, provenance
from learned_schedulers.bench.running import Run, of_method, over_runs, run, warm_up
from learned_schedulers.bench.stored import Stored
from learned_schedulers.bench.tasks import Introduction
from learned_schedulers.files import content, replacing
from learned_schedulers.graphs.devices.settings import GraphTarget
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.outside_methods import is_outside
from learned_schedulers.section import Section, explain
from learned_schedulers.statistics.bootstrap import Estimate
from learned_schedulers.statistics.clusters import ClusterBootstrap

ELSEWHERE = "elsewhere"  # the budget of schedules that were computed elsewhere
SEEDS = 5  # of a method that draws at random: rule 4 of BENCHMARK.md
SAMPLES, CONFIDENCE = 1000, 0.95  # of the intervals, as in params.yaml
_LARGEST = 20_000_000  # bytes of a file
_MOST_SEEDS = 100
_SAME = 1e-9  # relative: a cost of the file and the one that the judge computes anew
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_ .:+-]{0,79}$"
Name = Annotated[str, Field(pattern=_NAME)]


class Stands(Section):
    """Geometric mean of the cost over the baseline's, with its interval over families, instances and seeds."""

    value: float
    low: float
    high: float


class HandIn(Section):
    """Content of the file."""

    form: Literal["learned-schedulers result 2"] = "learned-schedulers result 2"
    set: str
    target: str
    instances: str  # digest of the set
    graph_ids: list[str]  # of the columns of `run`
    method: Name
    settings: dict[str, Any]
    sees: Sight
    draws: bool  # at random
    budget: str  # evaluations=1000, seconds=2.5; of schedules that were computed elsewhere: elsewhere
    differing: list[str] = []  # graphs of which a second run with the last seed gave another answer
    date: dates.date
    provenance: Provenance
    run: Run

    @property
    def limit(self) -> Limit | None:
        """None: computed elsewhere. Raises ValueError for a budget of another form."""
        return None if self.budget == ELSEWHERE else Limit.read(self.budget)


def introduced(name: str, settings: dict[str, Any], allowance: Allowance) -> Introduction:
    """What a method says of itself; that of another package in a process. Raises ValueError for what is no method."""
    if not is_outside(name):
        return entrant(name, **settings).introduction
    with Apart(name, settings, allowance) as process:
        return process.introduction


def run_of(
    method: Introduction,
    of_set: str,
    target: str,
    limit: Limit,
    seeds: Sequence[int],
    allowance: Allowance,
    jobs: int = 1,
    store: Stored | None = None,
    backwards: bool = False,
) -> Run:
    """The run of a method in processes of its own. A method without random draws has one seed.

    backwards: the instances in the other sequence, on which no answer may depend.
    """
    every, each_seed = instances(of_set), seeds if method.draws else seeds[:1]
    every = every[::-1] if backwards else every
    complete = store is not None and all(store.of(each, seed) for each in every for seed in each_seed)
    with ExitStack() as stack:
        processes = [stack.enter_context(Apart(method.name, method.settings, allowance)) for _ in range(jobs)]
        sources = [of_method(process, limit, method.sees) for process in processes]
        if not complete:
            for process in processes:
                warm_up(process, every, target, method.sees)
        title = "" if complete else f"{method.name}{', once more' * backwards}"
        return run(sources, every, target, each_seed, store, title)


def differing(
    method: Introduction, of_set: str, target: str, limit: Limit, result: Run, allowance: Allowance, jobs: int
) -> list[str]:
    """Graphs of which a second run with the last seed gives another answer, because of a clock or of calls before.

    None within seconds, where a clock may decide.
    """
    if limit.unit == "seconds":
        return []
    again = run_of(method, of_set, target, limit, result.seeds[-1:], allowance, jobs, backwards=True)
    answers = zip(instances(of_set), result.schedules[-1], again.schedules[-1][::-1], strict=True)
    return [instance.graph_id for instance, before, after in answers if before != after]


def not_for_leaderboard(result: HandIn) -> list[str]:
    """Why a result is none for the leaderboard; nothing if it is one."""
    reasons = []
    if "development" in result.set:
        reasons.append(f"{result.set} is for the choice of settings; results are of the other sets")
    if result.target not in SETS[result.set].targets:
        reasons.append(f"{result.target} has another strength than the frozen one")
    if result.draws and len(set(result.run.seeds)) < SEEDS:
        reasons.append(f"{len(set(result.run.seeds))} seeds; a method that draws at random has {SEEDS}")
    if result.limit is not None and (count := over_runs(result.run, result.limit)):
        reasons.append(f"it spent more than {result.limit} on {count} instances and seeds")
    if result.differing:
        reasons.append(
            f"a second run with the same seed differs on {len(result.differing)} instances; take all random draws from "
            "`rng`, no clock, and nothing from calls before"
        )
    return reasons


def hand_in(
    of_set: str, target: str, method: Introduction, limit: Limit | None, result: Run, differing: list[str]
) -> HandIn:
    """The content of the file, of today. Raises ValueError if there is no answer, and for a name of odd signs."""
    every = instances(of_set)
    if np.isnan(result.array).all():
        raise ValueError(f"{method.name} has no schedule of any instance of {of_set}; there is nothing to hand in")
    if not re.fullmatch(_NAME, method.name):
        raise ValueError(f"the name {method.name!r}: take 1 to 80 letters, digits, blanks and any of _.:+-")
    return HandIn(
        set=of_set,
        target=target,
        instances=digest(every),
        graph_ids=[instance.graph_id for instance in every],
        method=method.name,
        settings=method.settings,
        sees=method.sees,
        draws=method.draws,
        budget=ELSEWHERE if limit is None else str(limit),
        differing=differing,
        date=dates.datetime.now(dates.UTC).date(),
        provenance=provenance(method.package, method.source),
        run=result,
    )


def write(result: HandIn, path: Path) -> None:
    """Write the file whole or not at all."""
    with replacing(path, follow=True) as temporary:
        temporary.write_text(result.model_dump_json(indent=1) + "\n")


def read(path: Path) -> HandIn:
    """A result for the leaderboard, judged anew. Raises ValueError that names file, fault and remedy."""
    text = content(path, _LARGEST)
    if text.startswith(b"instance,"):
        raise ValueError(f"{path}: these are starts; `learned-schedulers project FILE... --starts {path}` judges them")
    try:
        result = HandIn.model_validate_json(text)
    except ValidationError as error:
        raise explain(error, str(path)) from error
    try:
        check_target(result.set, result.target)
        faults = [_fault(result) or "; ".join(not_for_leaderboard(result))]
    except ValueError as error:
        faults = [str(error)]
    if any(faults):
        raise ValueError(f"{path}: {result.method} is refused: {faults[0]}")
    return result


def _fault(result: HandIn) -> str:
    """What is wrong with the schedules of a result, with the remedy; empty if nothing is."""
    every = instances(result.set)
    if result.instances != digest(every) or result.graph_ids != [instance.graph_id for instance in every]:
        return f"it was computed on other instances than the frozen ones of {result.set}; run `compare` of this version"
    run, rows, columns = result.run, len(result.run.seeds), len(every)
    shapes = [[len(row) for row in table] for table in (run.costs, run.schedules, run.seconds, run.evaluations)]
    if not 1 <= rows <= _MOST_SEEDS or any(shape != [columns] * rows for shape in shapes):
        return f"costs, schedules, seconds and evaluations must have {columns} entries for 1 to {_MOST_SEEDS} seeds"
    for seed, costs, schedules in zip(run.seeds, run.costs, run.schedules, strict=True):
        for instance, cost, schedule in zip(every, costs, schedules, strict=True):
            place = f"{instance.title} with seed {seed}"
            if (cost is None) != (schedule is None):
                return f"{place}: a cost without a schedule, or a schedule without a cost"
            if cost is None or schedule is None:
                continue
            try:
                judged = instance.cost(schedule, result.target)
            except ValueError as error:
                return f"{place}: {error}"
            if not np.isclose(cost, judged, rtol=_SAME, atol=0):
                return f"{place}: its cost is {cost} {SETS[result.set].unit}, and its schedule takes {judged}"
    return ""


@cache
def baseline_costs(of_set: str, target: str) -> np.ndarray:
    """(G,) costs of the set's baseline."""
    method = entrant(baseline(of_set))
    source = of_method(method, Limit("evaluations", SETS[of_set].evaluations), method.introduction.sees)
    return costs_of(of_set, target, run([source], instances(of_set), target, [0]))[0]


def costs_of(of_set: str, target: str, result: Run) -> np.ndarray:
    """(S, G) costs; an instance without a schedule counts as all its operations on one device."""
    alone = np.array([instance.alone(target) for instance in instances(of_set)])
    return np.where(np.isnan(result.array), alone, result.array)


@cache
def bounds_of(of_set: str, target: str) -> np.ndarray:
    """(G,) costs that no answer to each instance is below."""
    return np.array([instance.bound(target) for instance in instances(of_set)])


@cache
def _bootstrap(of_set: str) -> ClusterBootstrap:
    return ClusterBootstrap([instance.family for instance in instances(of_set)], SAMPLES, CONFIDENCE)


def standing(of_set: str, target: str, result: Run) -> Stands:
    """How a run stands to the baseline."""
    return _stands(of_set, costs_of(of_set, target, result) / baseline_costs(of_set, target))


def over_bound(of_set: str, target: str, result: Run) -> Stands | None:
    """How a run stands to the bounds; None on `noisy`, whose bound is none of a schedule that is good on the mean."""
    if target.startswith(GraphTarget.NOISY):
        return None
    return _stands(of_set, costs_of(of_set, target, result) / bounds_of(of_set, target))


def paired(of_set: str, target: str, result: Run, other: Run) -> Stands:
    """How a run stands to another one, seed by seed; one without random draws has one seed."""
    return _stands(of_set, costs_of(of_set, target, result) / costs_of(of_set, target, other))


def _stands(of_set: str, ratios: np.ndarray) -> Stands:
    estimate: Estimate = _bootstrap(of_set).estimates(np.log(ratios))[1]
    value, low, high = (float(np.exp(number)) for number in (estimate.value, estimate.low, estimate.high))
    return Stands(value=value, low=low, high=high)
