"""Computation graphs on four devices: their sets, which are those of the laboratory, and how schedules are judged.

The rule of the benchmark: of at most 1,000 proposals the best 100 on the target that the method sees are judged on the
target, and the best of them counts. On a placement set every method sees the target, and its best schedule counts.
"""

from __future__ import annotations

import hashlib
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.bench.kinds import FAILED, REFUSED, UNFIT, Result
from learned_schedulers.bench.provenance import package_of
from learned_schedulers.bench.tasks import SIMULATED, Fault, Introduction, Task
from learned_schedulers.graphs.devices import judging, targets
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import DEVICES, FROZEN_TARGETS, LINKS, DeviceName, GraphTarget, Link
from learned_schedulers.graphs.devices.targets import CountedTarget, Target
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals, make
from learned_schedulers.graphs.methods.rules.checking import faults
from learned_schedulers.graphs.methods.rules.keeping import KEPT, keep
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.models import SHIPPED
from learned_schedulers.graphs.models.whole_graph import SHIPPED as SHIPPED_GO
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.method_settings import MethodSettings, entry
from learned_schedulers.outside_methods import check_constructor, is_outside

ON_DEVICES = 4
_ANNEALING: dict[str, Any] = {"method": "annealing", "sees": "target", "hot": 0.001, "cold": 0.0001}
_RANDOMISED = {"method": "randomised_list", "least_noise": 0.3, "most_noise": 0.3}
ENTRIES: dict[str, dict[str, Any]] = {  # as in params.yaml and in plans/best.py
    "random_valid": {"method": "random_valid"},
    "list_scheduling": {"method": "list_scheduling"},
    "randomised_list": _RANDOMISED,
    "heft": {"method": "heft"},
    "one_device": {"method": "one_device"},
    "annealing_on_target": _ANNEALING,
    "search_of_ten_seconds": {"method": "local_search", "sees": "target"},
    "gflownet": {"method": "gflownet", "told": "target", "sigma": 0.01, "sigma_unit": "mean_run_time"},
    "go": {"method": "go", "model": "shipped"},
    "placed_list": {"method": "repaired", "of": {"method": "list_scheduling"}},
    "placed_heft": {"method": "repaired", "of": {"method": "heft"}},
    "placed_metis": {"method": "repaired", "of": {"method": "metis"}},
    "placed_one_device": {"method": "repaired", "of": {"method": "one_device"}},
    "placed_randomised_list": {"method": "repaired", "of": _RANDOMISED},
    "placed_annealing": {"method": "repaired", "of": _ANNEALING},
    "placed_search_of_ten_seconds": {"method": "decision_annealing"},
    "decision_annealing": {"method": "decision_annealing"},
}
_COUNTED = 2**53  # evaluations: whoever says more has spent more than any budget
_WEIGHTS = {"gflownet": SHIPPED, "go": SHIPPED_GO}
_UNLIMITED = ("list_scheduling", "heft", "randomised_list", "one_device", "random_valid")
_PLACED = ("placed_list", "placed_heft", "placed_metis", "placed_randomised_list", "placed_one_device")
_SLOW = ("annealing_on_target", "search_of_ten_seconds", "gflownet", "go")  # searches and networks
_SLOW_PLACED = ("placed_annealing", "decision_annealing", "placed_search_of_ten_seconds", "go")


class GraphSet(NamedTuple):
    """How the graphs of a set become problems, and what a method may spend on each."""

    name: str
    device: DeviceName | None = "v100"  # none: the graphs bring their run times along
    limited: bool = False  # devices with little memory, a placement set: every method sees the link

    contents: str = f"graphs on {ON_DEVICES} devices"
    unit: str = "s"

    @property
    def file(self) -> str:
        return f"{self.name}.parquet"

    @property
    def evaluations(self) -> int:
        return 2000 if self.limited else 1000

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of its targets; of a set without limits also a strength: `bandwidth_0.3`."""
        if self.limited:
            return tuple(LINKS)
        return (str(GraphTarget.PROXY), *map(str, FROZEN_TARGETS), *(LINKS if self.device else ()))

    @property
    def peers(self) -> dict[str, tuple[str, ...]]:
        if self.limited:
            return {"default": _PLACED, "all": _PLACED + _SLOW_PLACED}
        return {"default": _UNLIMITED, "all": _UNLIMITED + _SLOW}

    def has(self, target: str) -> bool:
        kind, _, strength = target.partition("_")
        return target in self.targets or bool(not self.limited and strength and kind in self.targets)

    def instances(self, rows: list[dict[Any, Any]]) -> Iterable[GraphInstance]:
        for row in rows:
            graph = Graph.from_row(row)
            yield GraphInstance(graph, self._problem(graph), self.limited)

    def _problem(self, graph: Graph) -> Problem:
        device = None if self.device is None else DEVICES[self.device]
        if self.limited:
            return limited(problem_of(graph, ON_DEVICES, device, np.inf))
        return problem_of(graph, ON_DEVICES, device)


SETS = (
    GraphSet("development_real"),  # settings are chosen on it
    GraphSet("unseen_real"),
    GraphSet("unseen_small"),
    GraphSet("unseen_synthetic", device=None),
    GraphSet("paper_sizes"),
    GraphSet("adversarial_small"),  # the graphs bring run times of devices along, so that links are targets
    GraphSet("placement_development", limited=True),  # settings are chosen on it
    GraphSet("placement_unseen", limited=True),
)


@dataclass(frozen=True)
class GraphInstance:
    """A graph on four devices."""

    graph: Graph
    problem: Problem  # without transfers; of a placement set with its memory limit
    limited: bool  # it is of a placement set: every method's best schedule on the target counts

    def __len__(self) -> int:
        return len(self.graph)

    @property
    def graph_id(self) -> str:
        return self.graph.graph_id

    @property
    def title(self) -> str:
        return f"{self.graph.name} {self.graph.variant} ({self.graph_id[:12]})"

    @property
    def family(self) -> str:
        return self.graph.family

    @property
    def identity(self) -> str:
        return f"{self.graph_id} {self.problem.devices} {self.problem.memory!r}"

    @cached_property
    def proxy(self) -> Target:
        """What a method sees that is not told the target."""
        return targets.proxy(self.problem).sealed()

    def target(self, name: str) -> Target:
        """The target of this name. Raises ValueError for a name that does not exist."""
        links: dict[str, Link] = dict(LINKS.items())
        return judging.target_of(name, self.graph_id, self.problem, judging.strengths(), links).sealed()

    def bound(self, target: str) -> float:
        """Seconds of the critical path, or of all work shared evenly."""
        return self.target(target).bound

    def alone(self, target: str) -> float:
        """Seconds of all operations on one device, whether they fit its memory or not."""
        order, placement = np.arange(len(self), dtype=np.int32), np.zeros(len(self), np.int32)
        return float(self.target(target).seconds(order[None], placement[None])[0])

    def rng(self, seed: int, target: str) -> np.random.Generator:
        """The random draws of a method for this instance: the same as in the laboratory."""
        of_link = target.encode() if self.limited else b""
        return np.random.default_rng([seed, *of_link, *bytes.fromhex(self.graph_id)])

    def task(self, target: str, seed: int, budget: Budget, sees: Sight) -> Task:
        """What a method is given: the target only if it needs it."""
        draws = self.target(target).draws if sees == "target" else ()
        return Task(self.proxy.draws[0], draws, self.rng(seed, target), budget)

    def judge(self, answer: Proposals, target: str, sees: Sight, budget: Budget) -> Result:
        """The cost of the best of the schedules that count on the target, or why there is none."""
        if wrong := list(faults(answer, self.proxy.draws[0], budget)):
            return Result(failure=(FAILED, "; ".join(wrong)))
        if answer.status == UNSUPPORTED:
            return Result(failure=(REFUSED, answer.message))
        judge = self.target(target)
        visible = judge if sees == "target" or self.limited else self.proxy
        schedules = keep(answer, visible, judge, 1 if self.limited else KEPT)
        if not len(schedules.orders):
            return Result(failure=(UNFIT, "none of its schedules fits the devices' memory"))
        best = schedules.best
        text = _text(schedules.orders[best], schedules.placements[best])
        cost = float(schedules.judged_seconds[best])
        return Result(cost=cost, schedule=text, evaluations=_evaluations(answer))

    def cost(self, schedule: str, target: str) -> float:
        """Seconds of a schedule on the target. Raises ValueError for what is none, or does not fit the memory."""
        answer, judge = _proposals(schedule, len(self)), self.target(target)
        if wrong := list(faults(answer, judge.draws[0], Budget(1))):
            raise ValueError("; ".join(wrong))
        if not fits(judge.draws[0], answer.orders[0], answer.placements[0]):
            raise ValueError("the schedule does not fit the devices' memory")
        return float(judge.seconds(answer.orders, answer.placements)[0])


def _text(order: np.ndarray, placement: np.ndarray) -> str:
    """A schedule as compressed text."""
    return b64encode(zlib.compress(np.stack([order, placement]).astype("<i4").tobytes(), 9)).decode()


def _proposals(text: str, n: int) -> Proposals:
    """The schedule of n operations in a text. Raises ValueError for another form."""
    try:
        stream = zlib.decompressobj()
        numbers = np.frombuffer(stream.decompress(b64decode(text, validate=True), 8 * n + 1), "<i4")
        order, placement = numbers.reshape(2, 1, n).astype(np.int32)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"this is no schedule of {n} operations ({error})") from error
    return Proposals(order, placement)


def _evaluations(answer: Proposals) -> int:
    """What an answer took: the end of its curve, else what it proposes; at least what it had the target simulate."""
    curve, simulated = (np.ravel(answer.stats.get(name, ())) for name in ("evaluations", SIMULATED))
    spent = max(curve[-1] if len(curve) else len(answer.orders), *simulated[-1:], 0)
    return int(min(spent, _COUNTED))


class GraphEntrant(NamedTuple):
    """A method for computation graphs in the process that runs it."""

    introduction: Introduction
    settings: MethodSettings
    weights: Path | None = None

    def prepared(self, task: Task) -> Callable[[], Proposals]:
        """A call of the method."""
        return lambda: self.propose(task)

    def propose(self, task: Task) -> Proposals:
        """Proposals without faults. Raises Fault, or what the method raises."""
        counted = CountedTarget(task.draws)
        resources: dict[str, object] = {"target": counted} if task.draws else {}
        resources |= {} if self.weights is None else {"weights": self.weights}
        answer = make(self.settings, resources).propose(task.problem, task.rng, task.budget)
        if wrong := list(faults(answer, task.problem, task.budget)):
            raise Fault("; ".join(wrong))
        if not is_outside(self.settings.method):  # ours count themselves
            return answer
        return replace(answer, stats=answer.stats | {SIMULATED: np.array(counted.simulated)})


def entrant(name: str, /, **keys: Any) -> GraphEntrant:
    """A peer by its name, or any other method for graphs, `package:Class`, with these settings.

    The code of another package's method is imported. Raises ValueError for an unknown name or setting, for a method of
    another kind, and for one that needs more than `compare` has.
    """
    settings = entry("graph", **(ENTRIES.get(name, {"method": name}) | keys))
    weights = _WEIGHTS.get(name)
    available = {"target"} | ({"weights"} if weights else set())
    if missing := sorted(settings.needs - available):
        raise ValueError(
            f"the method {name!r} needs {', '.join(missing)}, and `needs` may name {', '.join(sorted(available))} alone"
        )
    check_constructor(settings.method, available & (settings.needs | settings.uses))
    package, source = package_of(settings.method)
    introduction = Introduction(
        name=name,
        settings=settings.model_dump(mode="json"),
        needs=frozenset(available & (settings.needs | settings.uses)),
        draws=settings.draws,
        package=package,
        source=source,
        weights="" if weights is None else hashlib.sha256(weights.read_bytes()).hexdigest(),
    )
    return GraphEntrant(introduction, settings, weights)
