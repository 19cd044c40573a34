"""Learned schedulers: code and models are read, scheduled and written again. `import learned_schedulers as ls`.

A name is imported when it is first used; of them, `read_module`, `popocs` and `ScheduleEnv` need torch.

Numbers are the same on every x86-64 processor of level 3 (AVX2 and FMA; 2013 and later). This module sets that level
for every library that compiles or selects code by processor, before any of them is imported.
"""

import os
from typing import TYPE_CHECKING

from learned_schedulers.public import offer

if TYPE_CHECKING:
    from learned_schedulers.blocks import Block, block
    from learned_schedulers.graphs import (
        Problem,
        Schedule,
        ScheduleEnv,
        Source,
        graph_from_pairs,
        judge,
        on_devices,
        read_graph,
        read_module,
        schedule,
    )
    from learned_schedulers.operators import partial_orders, popocs

__version__ = "1.0.0"
__all__ = [
    "Block",
    "Problem",
    "Schedule",
    "ScheduleEnv",
    "Source",
    "block",
    "graph_from_pairs",
    "judge",
    "on_devices",
    "partial_orders",
    "popocs",
    "read_graph",
    "read_module",
    "schedule",
]
LEVEL_3 = {
    "NUMBA_CPU_NAME": "x86-64-v3",
    "NUMBA_CPU_FEATURES": "",  # those of the name alone; without it numba adds those of the processor at hand
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",  # of NumPy and SciPy
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",  # torch's matrix products: no other mode is the same on processors of all makers
}
for name, value in LEVEL_3.items():
    os.environ.setdefault(name, value)  # a benchmark of the price sets other values
offer(
    __name__,
    {
        "blocks": "Block block",
        "graphs": "Problem Schedule ScheduleEnv Source "
        "graph_from_pairs judge on_devices read_graph read_module schedule",
        "operators": "partial_orders popocs",
    },
)
