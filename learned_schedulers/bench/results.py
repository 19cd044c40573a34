"""A method's result on a set and a target, in a file that is handed in, and how it stands to the baseline.

`read` believes no number that it can compute: it refuses other instances, costs below the bound, and an estimate that
does not follow from the costs.
"""

from __future__ import annotations

import datetime as dates
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from learned_schedulers.bench.apart import run_apart
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.instances import SETS, check_target, digest, instances
from learned_schedulers.bench.kinds import Entrant
from learned_schedulers.bench.peers import baseline
from learned_schedulers.bench.provenance import Provenance, provenance
from learned_schedulers.bench.running import Run, of_method, on_stderr, over_runs, run
from learned_schedulers.bench.stored import run_of
from learned_schedulers.files import replacing
from learned_schedulers.graphs.devices.settings import GraphTarget
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods.rules.checking import ROUNDING
from learned_schedulers.outside_methods import is_outside
from learned_schedulers.section import Section, explain
from learned_schedulers.statistics.bootstrap import Estimate
from learned_schedulers.statistics.clusters import ClusterBootstrap

ELSEWHERE = "elsewhere"  # the budget of schedules that were computed elsewhere
SEEDS = 5  # of a method that draws at random: rule 4 of BENCHMARK.md
SAMPLES, CONFIDENCE = 1000, 0.95  # of the intervals, as in params.yaml
_LARGEST = 20_000_000  # bytes of a file
_MOST_SEEDS = 100
_SAME = 1e-6  # relative: the estimate of the file and the one that follows from its costs
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_ .:+-]{0,79}$"
Name = Annotated[str, Field(pattern=_NAME)]


class Stands(Section):
    """Geometric mean of the cost over the baseline's, with its interval over families, instances and seeds."""

    value: float  # NaN if no instance has a schedule
    low: float
    high: float
    graphs: int  # instances that have a schedule


class HandIn(Section):
    """Content of the file."""

    form: Literal["learned-schedulers result 1"] = "learned-schedulers result 1"
    set: str
    target: str
    instances: str  # digest of the set
    graph_ids: list[str]  # of the columns of `run`
    method: Name
    settings: dict[str, Any]
    sees: Sight
    budget: str  # evaluations=1000, seconds=2.5; of schedules that were computed elsewhere: elsewhere
    date: dates.date
    stands: Stands
    provenance: Provenance
    run: Run


class Contestant(NamedTuple):
    """A method, or schedules that were computed elsewhere, on one set and target."""

    name: str
    method: str | None  # as the registry finds it; None: computed elsewhere
    settings: dict[str, Any]
    sees: Sight
    draws: bool  # at random
    limit: Limit | None  # None: computed elsewhere
    run: Callable[[], Run]


def of_entrant(
    entered: Entrant,
    of_set: str,
    target: str,
    limit: Limit,
    seeds: list[int],
    folder: Path | None,
) -> Contestant:
    """A method; that of another package runs in a process of its own. folder: of stored runs."""

    def run_it() -> Run:
        if is_outside(entered.method):
            return run_apart(entered, of_set, target, limit, seeds)
        return run_of(entered, instances(of_set), target, limit, seeds, folder, on_stderr(entered.name)).run

    return Contestant(entered.name, entered.method, entered.keys, entered.sees, entered.draws, limit, run_it)


def not_for_leaderboard(of_set: str, target: str, contestant: Contestant, result: Run) -> list[str]:
    """Why a result is none for the leaderboard; nothing if it is one."""
    reasons = []
    if "development" in of_set:
        reasons.append(f"{of_set} is for the choice of settings; results are of the other sets")
    if target not in SETS[of_set].targets:
        reasons.append(f"{target} has another strength than the frozen one")
    if contestant.draws and len(result.seeds) < SEEDS:
        reasons.append(f"{len(result.seeds)} seeds; a method that draws at random has {SEEDS}")
    if contestant.limit is not None and (count := over_runs(result, contestant.limit)):
        reasons.append(f"it spent more than {contestant.limit} on {count} instances and seeds")
    return reasons


def hand_in(of_set: str, target: str, contestant: Contestant, result: Run) -> HandIn:
    """The content of the file, of today. Raises ValueError if there is no answer, and for a name of odd signs."""
    every, stands = instances(of_set), standing(of_set, target, result)
    if stands.graphs == 0:
        raise ValueError(f"{contestant.name} has no schedule of any instance of {of_set}; there is nothing to hand in")
    if not re.fullmatch(_NAME, contestant.name):
        raise ValueError(f"the name {contestant.name!r}: take 1 to 80 letters, digits, blanks and any of _.:+-")
    return HandIn(
        set=of_set,
        target=target,
        instances=digest(every),
        graph_ids=[instance.graph_id for instance in every],
        method=contestant.name,
        settings=contestant.settings,
        sees=contestant.sees,
        budget=ELSEWHERE if contestant.limit is None else str(contestant.limit),
        date=dates.datetime.now(dates.UTC).date(),
        stands=stands,
        provenance=provenance(contestant.method),
        run=result,
    )


def write(result: HandIn, path: Path) -> None:
    """Write the file whole or not at all."""
    with replacing(path, follow=True) as temporary:
        temporary.write_text(result.model_dump_json(indent=1) + "\n")


def read(path: Path) -> HandIn:
    """The result in a file that was handed in. Raises ValueError that names the file, what is wrong, and the remedy."""
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path}: {path.stat().st_size} bytes; a result has at most {_LARGEST}")
    try:
        result = HandIn.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise explain(error, str(path)) from error
    if fault := _fault(result):
        raise ValueError(f"{path}: {result.method} is refused: {fault}")
    return result


def _fault(result: HandIn) -> str:
    """What is wrong with a result, with the remedy; empty if nothing is."""
    try:
        check_target(result.set, result.target)
        if result.budget != ELSEWHERE:
            Limit.read(result.budget)
    except ValueError as error:
        return str(error)
    every = instances(result.set)
    if result.instances != digest(every) or result.graph_ids != [instance.graph_id for instance in every]:
        return f"it was computed on other instances than the frozen ones of {result.set}; run `compare` of this version"
    rows, columns = len(result.run.seeds), len(every)
    shapes = [[len(row) for row in table] for table in (result.run.costs, result.run.seconds, result.run.evaluations)]
    if not 1 <= rows <= _MOST_SEEDS or any(shape != [columns] * rows for shape in shapes):
        return f"costs, seconds and evaluations must have {columns} numbers for each of 1 to {_MOST_SEEDS} seeds"
    costs, bounds = result.run.array, bounds_of(result.set, result.target)
    if np.isinf(costs).any():
        return "a cost is infinite; an instance without a schedule has null"
    low = np.argwhere(costs < bounds * ROUNDING)
    if len(low):
        seed, graph = low[0]
        unit = SETS[result.set].unit
        return (
            f"{every[graph].title} takes {costs[seed, graph]} {unit} with seed {result.run.seeds[seed]}, and no "
            f"schedule takes less than {bounds[graph]} {unit} on {result.target}: the costs are not those of the judge"
        )
    stands = standing(result.set, result.target, result.run)
    computed, in_file = ([each.value, each.low, each.high, each.graphs] for each in (stands, result.stands))
    if not np.allclose(computed, in_file, rtol=_SAME, equal_nan=True):
        return f"its `stands` says {result.stands.value:.6g}, and from its costs follows {stands.value:.6g}"
    return ""


@cache
def baseline_costs(of_set: str, target: str) -> np.ndarray:
    """(G,) costs of the set's baseline."""
    source = of_method(entrant(baseline(of_set)), Limit("evaluations", SETS[of_set].evaluations))
    return run(source, instances(of_set), target, [0]).array[0]


@cache
def bounds_of(of_set: str, target: str) -> np.ndarray:
    """(G,) costs that no answer to each instance is below."""
    return np.array([instance.bound(target) for instance in instances(of_set)])


@cache
def _bootstrap(of_set: str) -> ClusterBootstrap:
    return ClusterBootstrap([instance.family for instance in instances(of_set)], SAMPLES, CONFIDENCE)


def standing(of_set: str, target: str, result: Run) -> Stands:
    """How a run stands to the baseline."""
    return _stands(of_set, result.array / baseline_costs(of_set, target))


def over_bound(of_set: str, target: str, result: Run) -> Stands | None:
    """How a run stands to the bounds; None on `noisy`, whose bound is none of a schedule that is good on the mean."""
    if target.startswith(GraphTarget.NOISY):
        return None
    return _stands(of_set, result.array / bounds_of(of_set, target))


def paired(of_set: str, result: Run, other: Run) -> Stands:
    """How a run stands to another one, on the instances and seeds of both; one without random draws has one seed."""
    return _stands(of_set, result.array / other.array)


def _stands(of_set: str, ratios: np.ndarray) -> Stands:
    estimate: Estimate = _bootstrap(of_set).estimates(np.log(ratios))[1]
    value, low, high = (float(np.exp(number)) for number in (estimate.value, estimate.low, estimate.high))
    return Stands(value=value, low=low, high=high, graphs=estimate.n)
