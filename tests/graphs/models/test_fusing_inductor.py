"""What is proposed for Inductor's nodes, of nodes that are written by hand: no compiler is needed."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.compilers.inductor.nodes import Node
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.models.fusing.inductor import Compiler, Proposal, learned_from_nothing
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings

SMALL = Settings(width=16, heads=2, graph_layers=1, attention_layers=1)


def chain(count: int) -> list[Node]:
    """Loops one after the other; each may be fused with the next two."""
    return [
        Node(
            f"op{i}",
            Loop.ELEMENTWISE,
            0,
            1,
            1000,
            0.0,
            4000,
            4000,
            False,
            {f"op{i - 1}": 4000} if i else {},
            {f"op{j}": 4000 for j in (i + 1, i + 2) if j < count},
        )
        for i in range(count)
    ]


def test_a_judge_knows_what_fusing_saves() -> None:
    compiler = Compiler([chain(6)])
    problem = compiler.problems[0]
    together, apart = compiler.all_alike(problem), compiler.judged(problem, np.zeros(6, np.int8))
    assert together.plan.kernels == 1 and apart.plan.kernels == 6 and together.seconds < apart.seconds
    proposal = Proposal.of(together)
    assert proposal.by_name(chain(6)) == {f"op{i}": 1 for i in range(6)} and proposal.seconds == together.seconds


def test_proposals_from_nothing_differ_from_each_other_and_from_inductors_own() -> None:
    compiler = Compiler([chain(6)])
    problem = compiler.problems[0]
    proposals = learned_from_nothing(compiler, problem, 3, 0, SMALL)
    kernels = [compiler.judged(problem, proposal.levels).plan.kernel.tolist() for proposal in proposals]
    assert len(proposals) == 3 and len({str(kernel) for kernel in kernels}) == 3
    assert compiler.all_alike(problem).plan.kernel.tolist() not in kernels
    assert [proposal.seconds for proposal in proposals] == sorted(proposal.seconds for proposal in proposals)
    again = learned_from_nothing(compiler, problem, 3, 0, SMALL)
    assert [proposal.levels.tolist() for proposal in again] == [proposal.levels.tolist() for proposal in proposals]
