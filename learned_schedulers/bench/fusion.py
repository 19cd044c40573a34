"""Graphs whose operations are fused, on one device of a kind, and the cost of a plan by the roofline of the device.

They are the graphs of the sets of `graphs.py`, without devices and links between them. The judge is the cost of fusion
(graphs/compilers/cost.py), all kernels one after the other; the baseline is a kernel for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from learned_schedulers.bench.graphs import OfGraph
from learned_schedulers.bench.kinds import FAILED, REFUSED, Verdict
from learned_schedulers.graphs.compilers.bound import lower_bound
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.rates import rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import Budget
from learned_schedulers.graphs.methods.fusing import Fusion, faults, make
from learned_schedulers.graphs.models.fusing.settings import FusionMethod, allowing, fusion_entry
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.methods import Unsupported
from learned_schedulers.outside_methods import check_constructor

_ON: dict[str, DeviceName] = {"v100": "v100", "t4": "t4", "a100": "a100"}  # as in experiment fusion_accelerators
ENTRIES: dict[str, dict[str, Any]] = {  # as in pipeline/fusion/experiments.yaml
    "fusion_annealing": {"method": "annealing"},
    "go_fusion": {"method": "go"},
    **{name: {"method": name} for name in ("separate", "loop_fusion", "xla_2023", "priority_fusion", "optimum")},
}
_RULES = ("separate", "priority_fusion", "xla_2023", "loop_fusion")


class FusionSet(NamedTuple):
    """The graphs of another set."""

    name: str
    graphs: str  # name of that set

    kind: Literal["fusion"] = "fusion"
    contents: str = "graphs to fuse for one device"
    unit: str = "s"
    evaluations: int = 1000
    targets: tuple[str, ...] = tuple(_ON)

    @property
    def file(self) -> str:
        return f"{self.graphs}.parquet"

    @property
    def peers(self) -> dict[str, tuple[str, ...]]:
        return {"default": _RULES, "all": (*_RULES, "fusion_annealing", "go_fusion")}

    def has(self, target: str) -> bool:
        return target in self.targets

    def instances(self, rows: list[dict[Any, Any]]) -> Iterable[FusionInstance]:
        return (FusionInstance(Graph.from_row(row)) for row in rows)


SETS = (FusionSet("fused_development", "development_real"), FusionSet("fused_unseen", "unseen_real"))


@dataclass(frozen=True)
class FusionInstance(OfGraph):
    """A graph to be fused."""

    @property
    def identity(self) -> str:
        return f"{self.graph_id} fusion"

    def on(self, target: str) -> FusionProblem:
        """The problem on a device of this name."""
        return fusion_problem(self.graph, rates_of(DEVICES[_ON[target]]))

    def bound(self, target: str) -> float:
        """Seconds of operations that stay alone, and of the arithmetic or traffic of the loops."""
        return lower_bound(self.on(target))


class FusionEntrant(NamedTuple):
    """A method of fusion."""

    name: str
    entry: FusionMethod

    @property
    def method(self) -> str:
        return self.entry.method

    @property
    def keys(self) -> dict[str, Any]:
        return self.entry.model_dump(mode="json")

    @property
    def sees(self) -> Sight:
        return "target"

    @property
    def draws(self) -> bool:
        return self.entry.draws

    def weights_for(self, target: str) -> Path | None:
        return None

    def attempt(self, instance: FusionInstance, target: str, seed: int) -> Callable[[Budget], Fusion | Unsupported]:
        """The evaluations of the budget are the method's setting of this name."""
        problem = instance.on(target)

        def fuse(budget: Budget) -> Fusion | Unsupported:
            rng = np.random.default_rng([seed, *target.encode(), *bytes.fromhex(instance.graph_id)])
            try:
                return make(allowing(self.entry, budget.evaluations)).fuse(problem, rng)
            except Unsupported as error:
                return error

        return fuse

    def arrays(self, answer: Fusion | Unsupported) -> tuple[np.ndarray, ...]:
        return () if isinstance(answer, Unsupported) else (answer.plan.kernel,)

    def judge(self, answer: Fusion | Unsupported, instance: FusionInstance, target: str, budget: Budget) -> Verdict:
        if isinstance(answer, Unsupported):
            return Verdict(None, 0, (REFUSED, str(answer)))
        problem = instance.on(target)
        if wrong := list(faults(problem, answer)):
            return Verdict(None, 0, (FAILED, "; ".join(wrong)))
        return Verdict(seconds(problem, answer.plan), max(1, len(answer.costs)))


def entrant(name: str, keys: dict[str, Any]) -> FusionEntrant:
    """See peers.entrant."""
    entry = fusion_entry(**(ENTRIES.get(name, {"method": name}) | keys))
    if missing := sorted(entry.needs):
        raise ValueError(f"the method {name!r} needs {', '.join(missing)}, which `compare` does not have for it")
    check_constructor(entry.method, ())
    return FusionEntrant(name, entry)
