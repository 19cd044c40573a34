"""What no plan of fusion can undercut in the model of cost.py: operations that stay alone, arithmetic, and traffic."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.compilers.cost import kernel_seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.levels import may_fuse
from learned_schedulers.graphs.compilers.plan import separate


def lower_bound(problem: FusionProblem) -> float:
    """Seconds that the kernels of every legal plan take together.

    An operation that is no loop is a kernel of its own, and so are all that it reads written: it costs the same in
    every plan. Loops are computed at least once, read at least once what no loop wrote, and those that cannot be fused
    into their readers are written; their kernels take at least as long as all this arithmetic, or as all this traffic
    at the faster rate, and at least one launch if there is work.
    """
    is_loop = problem.loops <= Loop.REDUCTION
    alone = kernel_seconds(problem, separate(problem.n))[~is_loop].sum()
    stays = np.array([not may_fuse(problem, i) for i in range(problem.n)], bool)
    readers = np.repeat(np.arange(problem.n), np.diff(problem.parent_offsets))
    from_outside = is_loop[readers] & ~is_loop[problem.parents]
    read = np.zeros(problem.n)  # bytes of each result of an operation that is no loop, as far as a loop reads it
    np.maximum.at(read, problem.parents[from_outside], problem.parent_bytes[from_outside])
    moved = problem.own_read[is_loop].sum() + problem.written[is_loop & stays].sum() + read.sum()
    arithmetic = problem.computing[is_loop].sum()
    machine = problem.machine
    memory = moved * min(machine.cache_seconds_per_byte, machine.memory_seconds_per_byte)
    launch = machine.launch_seconds if arithmetic > 0 or moved > 0 else 0.0
    return float(alone + launch + max(arithmetic, memory))
