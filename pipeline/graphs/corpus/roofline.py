"""What the operations of a graph take on a named device, by its roofline; the problem that follows from it.

seconds = launch + max(FLOPs / FLOPs a second, bytes read and written / bytes a second): an operation is bound by
arithmetic or by memory (Williams, Waterman & Patterson 2009), and none is free.
"""

from __future__ import annotations

import numpy as np

from pipeline.config.devices import Device
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.problems.problem import Problem


def seconds(graph: Graph, device: Device) -> np.ndarray:
    """Run time of each operation on the device, (n,)."""
    moved = (graph.bytes_read + graph.bytes_written) / device.bytes_per_second
    return device.launch_seconds + np.maximum(graph.flops / device.flops_per_second, moved)


def problem_of(graph: Graph, devices: int, device: Device | None = None, memory: float | None = None) -> Problem:
    """The graph on so many devices of this kind, without transfers.

    memory: bytes of each device, by default the device's own. It counts where it could be too small for some schedule:
    a graph that fits one device as a whole has devices without limit, which is the same. Run times that the graph
    brings along win over the roofline's. Raises ValueError where neither graph nor device tells run times.
    """
    own = len(graph.seconds) == len(graph)
    if not own and device is None:
        raise ValueError(f"graph {graph.name}: it brings no run times along; name the device that they are of")
    sizes, kept = graph.bytes_written.astype(np.float64), graph.bytes_kept.astype(np.float64)
    most = float(sizes.sum() + kept.sum())  # no device can ever hold more: every result once, and all weights
    own_memory = np.inf if device is None else device.memory_bytes
    limit = own_memory if memory is None else memory
    return Problem(
        seconds=graph.seconds if own or device is None else seconds(graph, device),
        sizes=sizes,
        children=graph.children,
        devices=devices,
        kept=kept,
        memory=np.inf if most <= limit else limit,
    )
