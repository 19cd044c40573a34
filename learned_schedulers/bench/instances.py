"""The frozen instances of the benchmark: graphs of a set on four devices, and the targets that they are judged on.

They are the pipeline's sets of graphs, copied by `python -m benchmarks.bench_instances`. Each graph is known by the
hash of its arrays, a set by its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from learned_schedulers.graphs.devices import judging, targets
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, DeviceName, GraphTarget, Link
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of

FOLDER = Path(__file__).parent / "frozen"
DIGESTS = FOLDER / "digests.txt"  # SHA-256 of each file, as sha256sum writes them
ON_DEVICES = 4


class FrozenSet(NamedTuple):
    """How the graphs of a set become problems, and what a method may spend on each."""

    device: DeviceName | None  # none: the graphs bring their run times along
    limited: bool  # devices with little memory, a placement set: every method sees the link
    evaluations: int
    baseline: str  # a name of peers.py

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of its targets; of a set without limits also a strength: `bandwidth_0.3`."""
        if self.limited:
            return tuple(LINKS)
        return (*map(str, GraphTarget), *(LINKS if self.device else ()))


_GRAPHS = FrozenSet("v100", limited=False, evaluations=1000, baseline="list_scheduling")
_PLACED = FrozenSet("v100", limited=True, evaluations=2000, baseline="placed_list")
SETS: dict[str, FrozenSet] = {
    "development_real": _GRAPHS,  # settings are chosen on it
    "unseen_real": _GRAPHS,
    "unseen_small": _GRAPHS,
    "unseen_synthetic": _GRAPHS._replace(device=None),
    "paper_sizes": _GRAPHS,
    "adversarial_small": _GRAPHS,  # the graphs bring run times of devices along, so that links are targets
    "placement_development": _PLACED,  # settings are chosen on it
    "placement_unseen": _PLACED,
}


@dataclass(frozen=True)
class Instance:
    """A graph on four devices."""

    graph: Graph
    problem: Problem  # without transfers; of a placement set with its memory limit
    limited: bool  # it is of a placement set: every method's best schedule on the target counts

    @property
    def graph_id(self) -> str:
        return self.graph.graph_id

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.graph.name} {self.graph.variant} ({self.graph_id[:12]})"

    @cached_property
    def proxy(self) -> Target:
        """What a method sees that is not told the target."""
        return targets.proxy(self.problem)

    def target(self, name: str) -> Target:
        """The target of this name. Raises ValueError for a name that does not exist."""
        links: dict[str, Link] = dict(LINKS.items())
        return judging.target_of(name, self.graph_id, self.problem, judging.strengths(), links)

    def rng(self, seed: int, target: str) -> np.random.Generator:
        """The random draws of a method for this instance: the same as in the laboratory."""
        of_link = target.encode() if self.limited else b""
        return np.random.default_rng([seed, *of_link, *bytes.fromhex(self.graph_id)])


@cache
def instances(name: str) -> tuple[Instance, ...]:
    """The instances of a frozen set, by their hashes.

    Raises ValueError for an unknown set, and for a file that is not the frozen one.
    """
    if name not in SETS:
        raise ValueError(f"no set {name!r}; the sets are {', '.join(SETS)}")
    path = FOLDER / f"{name}.parquet"
    frozen = {line.split()[1]: line.split()[0] for line in DIGESTS.read_text().splitlines()}
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != frozen.get(path.name):
            raise ValueError("its SHA-256 is another one than in digests.txt")
        graphs = [Graph.from_row(row) for row in pd.read_parquet(path).to_dict("records")]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path}: these are not the frozen instances: {error}; install the package again") from error
    every = (Instance(graph, _problem(graph, SETS[name]), SETS[name].limited) for graph in graphs)
    return tuple(sorted(every, key=lambda instance: instance.graph_id))


def _problem(graph: Graph, frozen: FrozenSet) -> Problem:
    device = None if frozen.device is None else DEVICES[frozen.device]
    if frozen.limited:
        return limited(problem_of(graph, ON_DEVICES, device, np.inf))
    return problem_of(graph, ON_DEVICES, device)


def digest(every: Sequence[Instance]) -> str:
    """SHA-256 of the hashes, devices and memory limits of instances: what a result was computed on."""
    lines = (f"{instance.graph_id} {instance.problem.devices} {instance.problem.memory!r}\n" for instance in every)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_target(name: str, target: str) -> None:
    """Raises ValueError if the set has no such target."""
    instances(name)
    frozen = SETS[name]
    kind, _, strength = target.partition("_")
    if target not in frozen.targets and (frozen.limited or not strength or kind not in frozen.targets):
        raise ValueError(f"the set {name} has no target {target!r}; its targets are {', '.join(frozen.targets)}")
    instances(name)[0].target(target)
