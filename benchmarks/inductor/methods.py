"""Each method's candidates for a model, compiled, and the best of them by a first series of measured times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from benchmarks.inductor.measuring import DEFAULT, Workshop, name_of
from benchmarks.inductor.proposals import Compiler, Proposal, by_traffic, changed, learned, random_levels
from pipeline.graphs.compilers.inductor.nodes import Node
from pipeline.graphs.compilers.problem import FusionProblem
from pipeline.graphs.models.fusing.network import Fusing

COMPILATIONS = 24
BATCH = 8  # candidates that are timed in turns at once: each is a process
METHODS = ("forbid_all", "random", "traffic", "search", "learned", "fine_tuned")


@dataclass(frozen=True)
class Tried:
    """A method's candidates of one model."""

    names: list[str]
    expected: list[float]  # seconds by the cost
    ratios: list[float]  # measured time over the default's, first series

    @property
    def best(self) -> str:
        """The candidate with the least measured time."""
        return self.names[int(np.argmin(self.ratios))]


def try_method(
    method: str,
    workshop: Workshop,
    nodes: Sequence[Node],
    compiler: Compiler,
    problem: FusionProblem,
    network: Callable[[], Fusing],
    rounds: int,
    rng: np.random.Generator,
) -> Tried:
    """Propose, compile and time. network: gives the trained one anew, which learning changes."""
    if method == "search":
        return _searched(workshop, nodes, compiler, problem, rounds, rng)
    proposals = {
        "forbid_all": lambda: [Proposal(np.zeros(problem.n, np.int8), np.nan)],
        "random": lambda: random_levels(compiler, problem, COMPILATIONS, rng),
        "traffic": lambda: by_traffic(compiler, problem),
        "learned": lambda: learned(compiler, network(), problem, COMPILATIONS, rng, fine_tuned=False),
        "fine_tuned": lambda: learned(compiler, network(), problem, COMPILATIONS, rng, fine_tuned=True),
    }[method]()
    return _timed(workshop, nodes, _different(compiler, problem, proposals), rounds, method)


def _different(compiler: Compiler, problem: FusionProblem, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Those that are expected to lead to different kernels."""
    by_kernels = {compiler.judged(problem, one.levels).plan.kernel.tobytes(): one for one in reversed(proposals)}
    return list(by_kernels.values())[::-1]


def _timed(workshop: Workshop, nodes: Sequence[Node], proposals: Sequence[Proposal], rounds: int, series: str) -> Tried:
    names: list[str] = []
    expected: list[float] = []
    for proposal in tqdm(proposals, desc=f"{workshop.model} {series}", leave=False):
        name, answer = workshop.compiled(proposal.by_name(nodes))
        if answer["status"] == "ok" and name not in names:
            names.append(name)
            expected.append(proposal.seconds)
    ratios: list[float] = []
    for begin in range(0, len(names), BATCH):
        batch = names[begin : begin + BATCH]
        times = [*workshop.timed([DEFAULT, *batch], rounds, f"first_{series}").values()]
        ratios += [float(np.median(own / times[0])) for own in times[1:]]
    return Tried(names, expected, ratios)


def _searched(
    workshop: Workshop,
    nodes: Sequence[Node],
    compiler: Compiler,
    problem: FusionProblem,
    rounds: int,
    rng: np.random.Generator,
) -> Tried:
    """Changes of the best so far by measured time, a few at a time; from all nodes alike."""
    best = Proposal(np.ones(problem.n, np.int8), compiler.all_alike(problem).seconds)
    tried = _timed(workshop, nodes, [best], rounds, "search_0")
    lowest = tried.ratios[0]
    for step in range(1, COMPILATIONS):
        left = min(BATCH, COMPILATIONS - len(tried.names))
        batch = [changed(compiler, problem, best.levels, rng) for _ in range(left)]
        by_name = {name_of(one.by_name(nodes)): one for one in batch}
        fresh = [one for name, one in by_name.items() if name not in tried.names]
        more = _timed(workshop, nodes, fresh, rounds, f"search_{step}")
        tried = Tried(tried.names + more.names, tried.expected + more.expected, tried.ratios + more.ratios)
        if more.names and min(more.ratios) < lowest:
            lowest, best = min(more.ratios), by_name[more.best]
        if len(tried.names) >= COMPILATIONS:
            break
    return tried
