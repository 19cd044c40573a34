"""What a stage of a pipeline takes of one micro-batch: seconds of its passes, bytes that it sends, bytes that it holds.

A stage is a set of operations. Its forward pass runs those of forward in the order of the graph, then it sends what
later stages read, each result once to each of them. Its backward pass follows when what it reads has arrived. Between
the two passes a stage keeps what its gradients read. In its memory lie, all the time, weights with the states of the
optimiser, sums of gradients, and buffers for what arrives while it computes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learned_schedulers.graphs.devices.settings import Device
from learned_schedulers.graphs.devices.simulator import sent_weights
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.problems.problem import Problem


@dataclass(frozen=True)
class Stages:
    """k stages, numbered along the graph. Bytes and seconds are of one micro-batch."""

    forward: np.ndarray  # (k,) seconds
    backward: np.ndarray  # (k,) seconds
    feeds: np.ndarray  # (k, k) bool: the stage of the column waits for that of the row; above the diagonal in forward
    sent: np.ndarray  # (k, k) float64 bytes from the stage of the row to that of the column
    weights: np.ndarray  # (k,) bytes of weights, and of the states of the optimiser
    gradients: np.ndarray  # (k,) bytes
    inputs: np.ndarray  # (k,) bytes that forward reads of the network's inputs and of other stages
    saved: np.ndarray  # (k,) bytes that gradients read
    forward_peak: np.ndarray  # (k,) most bytes during the forward pass
    backward_peak: np.ndarray  # (k,) most bytes during the backward pass, with those that were saved
    training: bool

    def __len__(self) -> int:
        return len(self.forward)

    @property
    def always(self) -> np.ndarray:
        """(k,) bytes that a stage holds all the time."""
        return self.weights + self.gradients + self.sent.sum(0)

    def recomputed(self, chosen: np.ndarray) -> Stages:
        """The same stages, of which the chosen ones, (k,) bool, keep only their inputs, and run forward again."""
        return replace(
            self,
            backward=self.backward + np.where(chosen, self.forward, 0.0),
            saved=np.where(chosen, self.inputs, self.saved),
            backward_peak=np.where(chosen, np.maximum(self.forward_peak, self.backward_peak), self.backward_peak),
        )


def with_sums(source: Source, problem: Problem, device: Device, micro_batches: int) -> Problem:
    """The problem, the source on equal devices of this kind, with the seconds in which gradients are added up.

    Each micro-batch but the first adds every gradient to its sum, which reads both and writes the sum. Counted is the
    mean over the micro-batches; profiled run times stay as they are.
    """
    if source.passes is None or micro_batches < 2 or len(source.graph.seconds):
        return problem
    parts = problem.parts
    gradient = parts.lasting & source.passes.backward[parts.owners]
    seconds = device.launch_seconds + 3 * parts.sizes[gradient] / device.bytes_per_second
    added = np.bincount(parts.owners[gradient], seconds, len(problem)) * (micro_batches - 1) / micro_batches
    return replace(problem, seconds=problem.seconds + added)


def stages_of(source: Source, problem: Problem, stage_of: np.ndarray) -> Stages | None:
    """The stages of n operations, (n,) from 0 on; None if two of them wait for each other in a pass.

    problem: the source on equal devices.
    """
    n, count = len(problem), int(stage_of.max(initial=0)) + 1
    backward = np.zeros(n, bool) if source.passes is None else source.passes.backward
    edges = problem.children
    sources, targets = edges.sources, edges.targets
    away = stage_of[sources] != stage_of[targets]
    sources, targets = sources[away], targets[away]
    senders, readers = stage_of[sources], stage_of[targets]
    if (readers < senders)[~backward[targets]].any() or (readers > senders)[backward[sources]].any():
        return None
    results, receivers = np.divmod(np.unique(sources.astype(np.int64) * count + readers), count)  # each result once
    sent, feeds = np.zeros((count, count)), np.zeros((count, count), bool)
    np.add.at(sent, (stage_of[results], receivers), problem.sizes[results])
    feeds[senders, readers] = True
    memory = _memory(source, problem, stage_of, backward, count)
    return Stages(
        forward=np.bincount(stage_of[~backward], problem.seconds[~backward], count),
        backward=np.bincount(stage_of[backward], problem.seconds[backward], count),
        feeds=feeds,
        sent=sent,
        training=bool(backward.any()),
        **memory,
    )


def _memory(
    source: Source, problem: Problem, stage_of: np.ndarray, backward: np.ndarray, count: int
) -> dict[str, np.ndarray]:
    """The fields of `Stages` about memory."""
    spread = replace(problem, devices=count, device_names=())

    def copied(of_stages: Problem) -> np.ndarray:
        devices, sizes = sent_weights(of_stages, stage_of)
        return np.bincount(devices, sizes, count)

    network_inputs = np.zeros(count)
    if source.inputs is not None:
        network_inputs += np.bincount(stage_of, source.inputs.kept_bytes, count)
        network_inputs += copied(replace(spread, shared=source.inputs.shared))
    parts = problem.parts
    owners, sources, targets = parts.owners, parts.readers.sources, parts.readers.targets
    # A row for each part of a result in each stage that computes or reads it.
    places = np.r_[np.arange(len(owners)), sources].astype(np.int64) * count
    pairs, rows = np.unique(places + np.r_[stage_of[owners], stage_of[targets]], return_inverse=True)
    part, stage = pairs // count, pairs % count
    last = np.full((2, len(pairs)), -1)  # operation of forward, and of backward, that reads it
    np.maximum.at(last, (backward[targets].astype(int), rows[len(owners) :]), targets)
    sizes, owner, lasting = parts.sizes[part], owners[part], parts.lasting[part]
    computed, late = stage_of[owner] == stage, backward[owner]
    leaves = computed & ((np.bincount(part, minlength=len(owners))[part] > 1) | (lasting & ~late))
    arrived = ~computed & ~late & (last[0] >= 0)
    saved = ~late & (last[1] >= 0)
    gradient = computed & late & lasting
    end = len(problem) - 1
    begins = np.where(computed, owner, 0)
    until = np.where(saved | leaves, end, np.maximum(last[0], begins))
    in_forward = ~late & (computed | arrived)
    forward_peak = _most(stage[in_forward], begins[in_forward], until[in_forward], sizes[in_forward], count, end)
    begins = np.where(computed & late, owner, 0)
    until = np.where(gradient, owner, np.where(leaves & late, end, np.maximum(last[1], begins)))
    of_pass = late | saved  # a gradient is added to the sum, and freed
    backward_peak = _most(stage[of_pass], begins[of_pass], until[of_pass], sizes[of_pass], count, end)
    return {
        "weights": np.bincount(stage_of, problem.weights, count) + copied(spread) - network_inputs,
        "gradients": np.bincount(stage[gradient], sizes[gradient], count),
        "inputs": np.bincount(stage[arrived], sizes[arrived], count) + network_inputs,
        "saved": (np.bincount(stage[saved], sizes[saved], count) + network_inputs) * backward.any(),
        "forward_peak": forward_peak + network_inputs,
        "backward_peak": (backward_peak + network_inputs) * backward.any(),
    }


def _most(
    stage: np.ndarray, begins: np.ndarray, until: np.ndarray, sizes: np.ndarray, count: int, end: int
) -> np.ndarray:
    """(k,) the largest sum of sizes at an operation. A row is there from operation `begins` to operation `until`."""
    most = np.zeros(count)
    for number in range(count):
        inside = stage == number
        change = np.bincount(begins[inside], sizes[inside], end + 2)
        change -= np.bincount(until[inside] + 1, sizes[inside], end + 2)
        most[number] = np.cumsum(change).max(initial=0.0)
    return most
