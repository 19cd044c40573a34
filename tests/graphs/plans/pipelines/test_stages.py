"""What stages hold and send, against plain Python that walks through the operations."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from learned_schedulers.graphs.devices.settings import DEVICES
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.plans.module_export import read_module
from learned_schedulers.graphs.plans.pipelines.search import Task
from learned_schedulers.graphs.plans.pipelines.stages import Stages, stages_of, with_sums
from learned_schedulers.graphs.plans.sources import Source, on_devices
from learned_schedulers.graphs.problems.problem import Problem


class Net(nn.Module):
    """A residual block, a weight that is read at both ends, parts of one result, an input that is read late."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.block = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        self.norm = nn.LayerNorm(8)
        self.wide = nn.Linear(8, 24)

    def forward(self, x: Tensor, late: Tensor) -> Tensor:
        y = self.first(x)
        y = self.norm(y + self.block(y))
        q, k, v = self.wide(y).chunk(3, -1)
        return self.first((q @ k.transpose(-1, -2)).softmax(-1) @ v + late)


@cache
def network(training: bool) -> tuple[Source, Problem]:
    source = read_module(Net(), (torch.empty(4, 6, 8), torch.empty(4, 6, 8)), training, "sum")
    return source, on_devices(source, 4, "t4", link="nvlink")


def split(training: bool, count: int) -> tuple[np.ndarray, Stages]:
    source, problem = network(training)
    stage_of = Task(source, problem, 1e12, 4).split(Task(source, problem, 1e12, 4).workload(count, 0, False)).devices
    assert stage_of is not None and stage_of.max() == count - 1
    stages = stages_of(source, problem, stage_of)
    assert stages is not None
    return stage_of, stages


def walked(source: Source, problem: Problem, stage_of: np.ndarray, stage: int) -> dict[str, float]:
    """Bytes of a stage, operation by operation."""
    backward = source.passes.backward.tolist() if source.passes else [False] * len(problem)
    parts = problem.parts
    readers = [parts.readers.targets[begin:end].tolist() for begin, end in pairwise(parts.readers.offsets)]
    owner, size = parts.owners.tolist(), parts.sizes.tolist()
    inside = [i for i in range(len(problem)) if stage_of[i] == stage]
    weights, network_inputs = {}, {}  # by who reads them first, with the number of each
    assert source.inputs is not None
    for i in inside:
        weights[i, "first"] = source.graph.bytes_kept[i]
        network_inputs[i, "first"] = source.inputs.kept_bytes[i]
    for table, shared in ((weights, source.shared), (network_inputs, source.inputs.shared)):
        rows = zip(shared.weights, shared.readers, shared.firsts, shared.sizes, strict=True)
        for weight, reader, first, of_weight in rows:
            if stage_of[reader] == stage != stage_of[first]:
                table[int(weight), "copy"] = of_weight
    given_bytes = sum(network_inputs.values())

    def run(operations: list[int], live: set[int], keep: set[int]) -> float:
        """The most bytes of the parts while operations run. A part is freed when nothing reads it any more."""
        most = 0.0
        for place, i in enumerate(operations):
            live |= {part for part in range(len(owner)) if owner[part] == i}
            most = max(most, sum(size[part] for part in live))
            rest = set(operations[place + 1 :])
            added = {part for part in live if owner[part] == i and backward[i] and parts.lasting[part]}
            live -= added | {part for part in live if part not in keep and not rest & set(readers[part])}
        return most

    def needed(part: int, of_backward: bool) -> bool:
        return any(stage_of[i] == stage and backward[i] == of_backward for i in readers[part])

    every = range(len(owner))
    of_forward = [part for part in every if not backward[owner[part]]]
    arrived = {part for part in of_forward if stage_of[owner[part]] != stage and needed(part, False)}
    saved = {part for part in of_forward if needed(part, True)}
    computed = {part for part in every if stage_of[owner[part]] == stage}
    leaving = {part for part in computed if any(stage_of[i] != stage for i in readers[part])}
    outputs = {part for part in of_forward if parts.lasting[part]}
    forward_peak = run([i for i in inside if not backward[i]], set(arrived), saved | leaving | outputs)
    gradients = {part for part in computed if backward[owner[part]] and parts.lasting[part]}
    coming = {part for part in every if backward[owner[part]] and needed(part, True)} - computed
    backward_peak = run([i for i in inside if backward[i]], saved | coming, leaving - saved)
    training = any(backward)
    return {
        "weights": sum(weights.values()),
        "gradients": sum(size[part] for part in gradients),
        "inputs": sum(size[part] for part in arrived) + given_bytes,
        "saved": training * (sum(size[part] for part in saved) + given_bytes),
        "forward_peak": forward_peak + given_bytes,
        "backward_peak": training * (backward_peak + given_bytes),
    }


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_memory_against_plain_python(training: bool, count: int) -> None:
    source, problem = network(training)
    stage_of, stages = split(training, count)
    for stage in range(count):
        expected = walked(source, problem, stage_of, stage)
        assert {name: float(getattr(stages, name)[stage]) for name in expected} == pytest.approx(expected), stage


def test_one_stage_holds_what_one_device_holds() -> None:
    source, problem = network(False)
    stages = stages_of(source, problem, np.zeros(len(problem), np.int32))
    assert stages is not None
    order = np.arange(len(problem), dtype=np.int32)
    assert stages.weights + stages.forward_peak == pytest.approx(peaks(problem, order, order * 0)[:1])


def test_a_result_is_sent_once_to_each_stage_that_reads_it() -> None:
    source, problem = network(True)
    assert source.passes is not None
    stage_of, stages = split(True, 3)
    edges = problem.children
    pairs = zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)
    expected = np.zeros((3, 3))
    for i, reader in {(i, int(stage_of[j])) for i, j in pairs if stage_of[i] != stage_of[j]}:
        expected[stage_of[i], reader] += problem.sizes[i]
    assert stages.sent == pytest.approx(expected) and stages.sent.sum() > 0
    times = problem.seconds * source.passes.backward
    assert stages.backward == pytest.approx(np.bincount(stage_of, times)) and stages.forward.min() > 0
    assert stages.forward.sum() + stages.backward.sum() == pytest.approx(problem.seconds.sum())


def test_gradients_are_with_their_operations() -> None:
    """Torch gives functions and gradients the same number; sums of gradients are with the earliest reader."""
    source, problem = network(True)
    passes, kinds = source.passes, source.graph.kinds
    assert passes is not None and not passes.backward[passes.classes].any()
    pairs = {(kinds[i], kinds[passes.classes[i]]) for i in np.flatnonzero(passes.backward)}
    assert {("gelu_backward", "gelu"), ("native_layer_norm_backward", "native_layer_norm")} <= pairs
    assert {kind for kind, of_forward in pairs if kind == "mm"} and ("mm", "addmm") in pairs
    edges = problem.children
    both = passes.backward[edges.sources] & passes.backward[edges.targets]
    sources, targets = passes.classes[edges.sources[both]], passes.classes[edges.targets[both]]
    tied = np.isin(edges.targets[both], np.flatnonzero(np.array(kinds) == "add"))  # of the weight that is read twice
    assert (sources >= targets)[~tied].all()


def test_stages_that_wait_for_each_other_are_refused() -> None:
    source, problem = network(False)
    stage_of = np.zeros(len(problem), np.int32)
    stage_of[0] = 1
    assert stages_of(source, problem, stage_of) is None


def test_each_micro_batch_but_the_first_adds_its_gradients_to_their_sums() -> None:
    source, problem = network(True)
    device = DEVICES["t4"]
    added = with_sums(source, problem, device, 4).seconds - problem.seconds
    each = [device.launch_seconds + 3 * weight.nbytes / device.bytes_per_second for weight in Net().parameters()]
    assert added.sum() == pytest.approx(0.75 * sum(each)) and source.passes is not None
    assert not added[~source.passes.backward].any()
    assert with_sums(source, problem, device, 1) is problem
    assert with_sums(*network(False), device, 4) is network(False)[1]
