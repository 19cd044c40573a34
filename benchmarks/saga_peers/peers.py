"""The compared methods: ours, and SAGA's as the package examples/saga_methods offers them."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.devices.targets import Target, proxy
from learned_schedulers.graphs.method_settings import GraphMethodSettings, graph_entry
from learned_schedulers.graphs.methods import Budget, Method, make
from learned_schedulers.graphs.methods.rules.keeping import keep
from learned_schedulers.graphs.models import SHIPPED
from learned_schedulers.graphs.models.whole_graph import SHIPPED as SHIPPED_GO
from learned_schedulers.outside_methods import offered

FEW = 20  # schedules of those of ours that make several, on small graphs
SEVERAL = Budget(proposals=FEW, evaluations=FEW)
OURS: dict[str, GraphMethodSettings] = {  # the networks as `learned-schedulers graph --by` runs them
    "list_scheduling": graph_entry("list_scheduling"),
    "heft": graph_entry("heft"),
    "randomised_list": graph_entry("randomised_list", least_noise=0.3, most_noise=0.3),
    "gflownet": graph_entry("gflownet", told="target", sigma=0.01, sigma_unit="mean_run_time"),
    "go": graph_entry("go", model="shipped"),
}
_WEIGHTS = {"gflownet": SHIPPED, "go": SHIPPED_GO}
SAGA = [name for name, reference in offered().items() if reference.startswith("saga_methods:")]


def method_of(name: str, target: Target) -> Method:
    """A method of ours or of SAGA's, for one graph on this target."""
    inputs: dict[str, object] = {"target": target}
    return make(OURS.get(name) or graph_entry(name), inputs | ({"weights": _WEIGHTS[name]} if name in _WEIGHTS else {}))


def seconds_of(name: str, target: Target, seed: list[int], budget: Budget) -> float:
    """Seconds of a method's answer on the target: the best of the schedules that are kept; NaN without any."""
    visible = target if name in SAGA or "target" in OURS[name].needs else proxy(target.mean)
    problem = proxy(target.mean).mean
    proposals = method_of(name, target).propose(problem, np.random.default_rng(seed), budget)
    judged = keep(proposals, visible, target).judged_seconds
    return float(judged.min()) if len(judged) else np.nan
