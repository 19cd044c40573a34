"""Small graphs that can be executed, and schedules of them."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run.executable import executable
from learned_schedulers.graphs.run.settings import Coarsening, Machine
from tests.graphs.read.drawn import shuffled

MACHINE = Machine(flops_per_second=2e10, bytes_per_second=8e9, copied_bytes_per_second=5e9, operation_seconds=1e-5)
COARSENING = Coarsening(machine=MACHINE, graph_seconds=2e-3, least_seconds=5e-5)


def tiny(seed: int = 0, n: int = 30, edges: int = 60) -> Graph:
    return executable(shuffled(n, edges, np.random.default_rng(seed))[0], COARSENING)
