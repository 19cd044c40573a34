"""Targets by name: the proxy, three targets with frozen strengths, and links with real figures.

The strengths come from a table in `frozen/`, which was made of development graphs before any method was compared: a
test holds that list scheduling loses as much there as in Zhang et al. 2023, table 1. The hidden run times of `noisy`
follow from the graph's hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.settings import FROZEN_TARGETS, GraphTarget, Link, strength_of
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.problems.problem import Problem

FROZEN = Path(__file__).parent / "frozen"


def strengths(folder: Path = FROZEN) -> dict[str, float]:
    """Noise, slope and delay by the name of their target. Raises ValueError that names the file if one is missing."""
    path = folder / "graph_targets.csv"
    try:
        table = pd.read_csv(path).set_index("target")["strength"]
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: this is not a table of frozen targets ({error}); restore it from git") from error
    if missing := sorted(set(map(str, FROZEN_TARGETS)) - set(table.index)):
        raise ValueError(f"{path}: the strengths of {missing} are missing; restore it from git")
    return {str(name): float(value) for name, value in table.items()}


def hidden_of(graph_id: str, problem: Problem) -> np.ndarray:
    """The hidden part of the run times of the graph with this hash, (draws, n)."""
    return targets.hidden(problem, np.random.default_rng(list(bytes.fromhex(graph_id))))


def target_of(
    name: str, graph_id: str, problem: Problem, frozen: Mapping[str, float], links: Mapping[str, Link]
) -> Target:
    """The target `name` for a graph on its devices; `bandwidth_0.3` has this strength instead of the frozen one.

    Raises ValueError for a name that does not exist.
    """
    kind, strength = strength_of(name) or (name, frozen.get(name, 0.0))
    match kind:
        case GraphTarget.PROXY:
            return targets.proxy(problem)
        case GraphTarget.NOISY:
            return targets.noisy(problem, strength, hidden_of(graph_id, problem))
        case GraphTarget.BANDWIDTH:
            return targets.bandwidth(problem, strength)
        case GraphTarget.LATENCY:
            return targets.latency(problem, strength)
        case GraphTarget.BLOCKING_BANDWIDTH if strength:
            return targets.blocking_bandwidth(problem, strength)
        case GraphTarget.BLOCKING_LATENCY if strength:
            return targets.blocking_latency(problem, strength)
    if name not in links:
        raise ValueError(f"no target {name!r}; the targets are {', '.join([*GraphTarget, *links])}, or bandwidth_0.3")
    return targets.linked(problem, links[name])
