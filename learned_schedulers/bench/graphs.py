"""Computation graphs on four devices: their sets, which are those of the laboratory, and how schedules are judged.

The rule of the benchmark: of at most 1,000 proposals the best 100 on the target that the method sees are judged on the
target, and the best of them counts. On a placement set every method sees the target, and its best schedule counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.bench.kinds import FAILED, REFUSED, UNFIT, Status, Verdict
from learned_schedulers.graphs.devices import judging, targets
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, DeviceName, GraphTarget, Link
from learned_schedulers.graphs.devices.targets import CountedTarget, Target
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals, make
from learned_schedulers.graphs.methods.rules.checking import faults
from learned_schedulers.graphs.methods.rules.keeping import KEPT, keep
from learned_schedulers.graphs.models import SHIPPED
from learned_schedulers.graphs.models.whole_graph import SHIPPED as SHIPPED_GO
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.method_settings import MethodSettings, entry
from learned_schedulers.outside_methods import check_constructor, is_outside

ON_DEVICES = 4
_ANNEALING: dict[str, Any] = {"method": "annealing", "sees": "target", "hot": 0.001, "cold": 0.0001}
ENTRIES: dict[str, dict[str, Any]] = {  # as in params.yaml and in plans/best.py
    "random_valid": {"method": "random_valid"},
    "list_scheduling": {"method": "list_scheduling"},
    "randomised_list": {"method": "randomised_list", "least_noise": 0.3, "most_noise": 0.3},
    "heft": {"method": "heft"},
    "annealing_on_target": _ANNEALING,
    "gflownet": {"method": "gflownet", "told": "target", "sigma": 0.01, "sigma_unit": "mean_run_time"},
    "go": {"method": "go", "model": "shipped"},
    "placed_list": {"method": "repaired", "of": {"method": "list_scheduling"}},
    "placed_heft": {"method": "repaired", "of": {"method": "heft"}},
    "placed_metis": {"method": "repaired", "of": {"method": "metis"}},
    "placed_annealing": {"method": "repaired", "of": _ANNEALING},
    "decision_annealing": {"method": "decision_annealing"},
}
_SIMULATED = "simulated"  # schedules that the target simulated for a method of another package; ours count themselves
_WEIGHTS = {"gflownet": SHIPPED, "go": SHIPPED_GO}
_UNLIMITED = ("list_scheduling", "heft", "randomised_list", "random_valid")
_PLACED = ("placed_list", "placed_heft", "placed_metis")


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
        return (*map(str, GraphTarget), *(LINKS if self.device else ()))

    @property
    def peers(self) -> dict[str, tuple[str, ...]]:
        if self.limited:
            return {"default": _PLACED, "all": (*_PLACED, "placed_annealing", "decision_annealing", "go")}
        return {"default": _UNLIMITED, "all": (*_UNLIMITED, "annealing_on_target", "gflownet", "go")}

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

    def rng(self, seed: int, target: str) -> np.random.Generator:
        """The random draws of a method for this instance: the same as in the laboratory."""
        of_link = target.encode() if self.limited else b""
        return np.random.default_rng([seed, *of_link, *bytes.fromhex(self.graph_id)])


class GraphEntrant(NamedTuple):
    """A method for computation graphs."""

    name: str
    settings: MethodSettings
    weights: Path | None = None

    @property
    def method(self) -> str:
        return self.settings.method

    @property
    def keys(self) -> dict[str, Any]:
        return self.settings.model_dump(mode="json")

    @property
    def sees(self) -> Sight:
        return "target" if "target" in self.settings.needs | self.settings.uses else "proxy"

    @property
    def draws(self) -> bool:
        return self.settings.draws

    def weights_for(self, target: str) -> Path | None:
        return self.weights

    def attempt(self, instance: GraphInstance, target: str, seed: int) -> Callable[[Budget], Proposals]:
        draws = instance.target(target).draws
        resources: dict[str, object] = {} if self.weights is None else {"weights": self.weights}

        def propose(budget: Budget) -> Proposals:
            counted = CountedTarget(draws)
            method = make(self.settings, resources | {"target": counted})
            answer = method.propose(instance.proxy.draws[0], instance.rng(seed, target), budget)
            if not isinstance(answer, Proposals) or not is_outside(self.method):
                return answer
            return replace(answer, stats=answer.stats | {_SIMULATED: np.array(counted.simulated)})

        return propose

    def arrays(self, answer: Proposals) -> tuple[np.ndarray, ...]:
        return answer.orders, answer.placements

    def judge(self, answer: Proposals, instance: GraphInstance, target: str, budget: Budget) -> Verdict:
        if wrong := list(faults(answer, instance.proxy.draws[0], budget)):
            return Verdict(None, 0, (FAILED, "; ".join(wrong)))
        curve = answer.stats.get("evaluations", np.zeros(0))
        evaluations = int(curve[-1]) if len(curve) else len(answer.orders)
        evaluations = max(evaluations, int(answer.stats.get(_SIMULATED, 0)))
        cost, failure = judged(answer, instance, instance.target(target), self.sees)
        return Verdict(cost, evaluations, failure)


def judged(
    proposals: Proposals, instance: GraphInstance, target: Target, sees: Sight
) -> tuple[float | None, tuple[Status, str] | None]:
    """The cost of the best of the kept schedules on the target, or why there is none."""
    if proposals.status == UNSUPPORTED:
        return None, (REFUSED, proposals.message)
    visible = target if sees == "target" or instance.limited else instance.proxy
    schedules = keep(proposals, visible, target, 1 if instance.limited else KEPT)
    if not len(schedules.orders):
        return None, (UNFIT, "none of its schedules fits the devices' memory")
    return float(schedules.judged_seconds[schedules.best]), None


def entrant(name: str, /, **keys: Any) -> GraphEntrant:
    """A peer by its name, or any other method for graphs, `package:Class`, with these settings.

    Raises ValueError for an unknown name or setting, for a method of another kind, and for one that needs more than
    `compare` has.
    """
    settings = entry("graph", **(ENTRIES.get(name, {"method": name}) | keys))
    weights = _WEIGHTS.get(name)
    available = {"target"} | ({"weights"} if weights else set())
    if missing := sorted(settings.needs - available):
        raise ValueError(f"the method {name!r} needs {', '.join(missing)}, which `compare` does not have for it")
    check_constructor(settings.method, available & (settings.needs | settings.uses))
    return GraphEntrant(name, settings, weights)
