"""Run times of a graph's operations on a named device, by its roofline, and the problem with these run times.

seconds = launch + max(FLOPs / FLOPs per second, bytes read and written / bytes per second): an operation is bound by
arithmetic or by memory (Williams, Waterman & Patterson 2009), and every operation costs at least its launch.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.devices.settings import Device
from learned_schedulers.graphs.problems.problem import NO_SHARED, Inputs, Parts, Problem, SharedWeights
from learned_schedulers.graphs.read.graph import Graph


def seconds(graph: Graph, device: Device, rates: np.ndarray | None = None) -> np.ndarray:
    """Run time of each operation on the device, (n,). rates: (n,) FLOPs per second; None: the device's own."""
    memory_seconds = (graph.bytes_read + graph.bytes_written) / device.bytes_per_second
    computing = graph.flops / (device.flops_per_second if rates is None else rates)
    return device.launch_seconds + np.maximum(computing, memory_seconds)


def problem_of(
    graph: Graph,
    devices: int,
    device: Device | None = None,
    memory: float | None = None,
    rates: np.ndarray | None = None,
    shared: SharedWeights = NO_SHARED,
    results: Parts | None = None,
    inputs: Inputs | None = None,
) -> Problem:
    """The graph on `devices` devices of this kind, without transfers.

    memory: bytes of each device, by default those of `device`; rates: as of `seconds`; shared, results: of the problem;
    inputs: None if they do not count.
    If the whole graph fits one device, the problem's memory is unlimited, which is equivalent. Run times that the graph
    brings along take precedence over the roofline. Raises ValueError if neither the graph nor a device gives run times.
    """
    has_seconds = len(graph.seconds) == len(graph)
    if not has_seconds and device is None:
        raise ValueError(f"graph {graph.name}: it has no run times; name a device, whose roofline gives them")
    sizes, weight_bytes = graph.bytes_written.astype(np.float64), graph.bytes_kept.astype(np.float64)
    if inputs is not None:
        weight_bytes, shared = weight_bytes + inputs.kept_bytes, shared.and_those_of(inputs.shared)
    # No device ever holds more than every result once, all weights and all inputs.
    result_bytes = sizes if results is None else results.sizes
    most = float(result_bytes.sum() + weight_bytes.sum() + shared.sizes.sum())
    device_memory = np.inf if device is None else device.memory_bytes
    limit = device_memory if memory is None else memory
    return Problem(
        seconds=graph.seconds if has_seconds or device is None else seconds(graph, device, rates),
        sizes=sizes,
        children=graph.children,
        devices=devices,
        weight_bytes=weight_bytes,
        memory=np.inf if most <= limit else limit,
        shared=shared,
        results=results,
        kinds=graph.kinds,
    )
