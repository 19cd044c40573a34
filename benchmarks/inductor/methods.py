"""Each method's candidates for a model, compiled, and the best of them by a first series of measured times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from benchmarks.inductor.measuring import BATCH, Workshop, name_of
from benchmarks.inductor.proposals import Compiler, Proposal, by_traffic, changed, learned, random_levels
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.inductor.nodes import Node
from learned_schedulers.graphs.compilers.inductor.nodes_problem import levels_of_plan
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing

COMPILATIONS = 24
_DRAWS = 400  # changes that the search by measured time draws for a batch of other kernels
METHODS = ("forbid_all", "random", "traffic", "search", "learned", "fine_tuned")
LEARNED = METHODS[-2:]


@dataclass(frozen=True)
class Trials:
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
) -> Trials:
    """Propose, compile and time. network: returns the trained network anew, as learning changes it."""
    if method == "search":
        return _searched(workshop, nodes, compiler, problem, rounds, rng)
    proposals = {
        "forbid_all": lambda: [Proposal(np.zeros(problem.n, np.int8), np.nan)],
        "random": lambda: random_levels(compiler, problem, COMPILATIONS, rng),
        "traffic": lambda: by_traffic(compiler, problem),
        "learned": lambda: learned(compiler, network(), problem, COMPILATIONS, rng, fine_tuned=False),
        "fine_tuned": lambda: learned(compiler, network(), problem, COMPILATIONS, rng, fine_tuned=True),
    }[method]()
    return _timed(workshop, nodes, compiler, problem, _different(compiler, problem, proposals), rounds)


def _different(compiler: Compiler, problem: FusionProblem, proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals that are expected to lead to different kernels."""
    by_kernels = {_kernels(compiler, problem, proposal): proposal for proposal in reversed(proposals)}
    return list(by_kernels.values())[::-1]


def _timed(
    workshop: Workshop,
    nodes: Sequence[Node],
    compiler: Compiler,
    problem: FusionProblem,
    proposals: Sequence[Proposal],
    rounds: int,
) -> Trials:
    """The candidates whose results are right. Kernels that another method has compiled are not compiled again."""
    by_name: dict[str, tuple[dict[str, int], Proposal]] = {}
    for proposal in proposals:
        levels = levels_of_plan(problem, compiler.judged(problem, proposal.levels).plan)
        by_node = {node.name: int(level) for node, level in zip(nodes, levels, strict=True)}
        by_name[name_of(by_node)] = by_node, proposal
    trials = Trials([], [], [])
    for measured in workshop.measured([by_node for by_node, _ in by_name.values()], rounds):
        if measured.status == "ok":
            trials.names.append(measured.name)
            trials.expected.append(by_name[measured.name][1].seconds)
            trials.ratios.append(measured.ratio)
        else:
            tqdm.write(f"{workshop.model}: {measured.name}: {measured.status}")
    return trials


def _searched(
    workshop: Workshop,
    nodes: Sequence[Node],
    compiler: Compiler,
    problem: FusionProblem,
    rounds: int,
    rng: np.random.Generator,
) -> Trials:
    """Changes of the best by measured time, a few at a time, each with other kernels; starts from all nodes alike."""
    best = Proposal(np.ones(problem.n, np.int8), compiler.all_alike(problem).seconds)
    trials = _timed(workshop, nodes, compiler, problem, [best], rounds)
    lowest, known_kernels = min(trials.ratios, default=np.inf), {_kernels(compiler, problem, best)}
    while remaining := COMPILATIONS - len(known_kernels):
        batch: list[Proposal] = []
        for _ in range(_DRAWS):
            drawn = changed(compiler, problem, best.levels, rng)
            if (kernels := _kernels(compiler, problem, drawn)) not in known_kernels:
                known_kernels.add(kernels)
                batch.append(drawn)
            if len(batch) == min(BATCH, remaining):
                break
        if not batch:
            break
        more = _timed(workshop, nodes, compiler, problem, batch, rounds)
        trials = Trials(trials.names + more.names, trials.expected + more.expected, trials.ratios + more.ratios)
        if more.names and min(more.ratios) < lowest:
            lowest, first = min(more.ratios), more.expected[int(np.argmin(more.ratios))]
            best = next(proposal for proposal in batch if proposal.seconds == first)
    return trials


def _kernels(compiler: Compiler, problem: FusionProblem, proposal: Proposal) -> bytes:
    """The kernels to which a proposal is expected to lead, as bytes."""
    return compiler.judged(problem, proposal.levels).plan.kernel.tobytes()
