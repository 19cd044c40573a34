"""XLA's multi-output fusion on GPUs (Snider & Liang 2023, section 3; the pass `gpu_multi_output_fusion`).

For every result, readers first: its readers are joined with each other (sibling fusion), then the kernels that it reads
are joined with its own (producer-consumer fusion), if the joined kernel is legal and its loops run over the same number
of elements.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.joining import join, kernels_of
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan


def joined(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray) -> Plan:
    """The plan after the pass. fused: (n,) bool; sizes: (n,) int64, operations computed for each."""
    return Plan(_joined(problem, fused, sizes))


@njit(cache=True, nogil=True)
def _joined(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    kernels = kernels_of(problem, fused, sizes)
    for i in range(len(fused) - 1, -1, -1):
        if fused[i]:
            continue
        begin, end = kernels.readers_offsets[i], kernels.readers_offsets[i + 1]
        for first in range(begin, end):
            for second in range(first + 1, end):
                join(
                    problem,
                    kernels,
                    kernels.kernel[kernels.readers[first]],
                    kernels.kernel[kernels.readers[second]],
                )
        for k in range(kernels.needed_offsets[i], kernels.needed_offsets[i + 1]):
            producer = kernels.kernel[kernels.needed[k]]
            if producer != NOT_WRITTEN:  # a fused operation has no kernel
                join(problem, kernels, producer, kernels.kernel[i])
    return kernels.kernel
