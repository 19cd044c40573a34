"""The pipelines that are found: valid, within the memory, and the programme's with copies as good as any."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from learned_schedulers.graphs.devices.settings import Link
from learned_schedulers.graphs.plans.module_export import read_module
from learned_schedulers.graphs.plans.pipelines.search import Plan, Task, best_plans
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.plans.splits.judging_splits import broken, loads
from learned_schedulers.graphs.plans.splits.programme import least
from learned_schedulers.graphs.read.workloads import Workload, read_workload
from tests.graphs.plans.splits.drawn_files import drawn
from tests.graphs.read.test_workloads import content, edge, node


def task_of(layers: int, training: bool, devices: int, micro_batches: int, memory: float = 1e12) -> Task:
    """Equal layers, whose weights and results weigh the same, and a link that hardly takes time."""
    width, link = 512, Link(bytes_per_second=1e14, seconds=0)
    module = nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(layers)))
    source = read_module(module, (torch.empty(width, width),), training, "sum")
    return Task(source, on_devices(source, devices, "t4", link=link), memory, micro_batches)


def fastest_with_copies(work: Workload) -> float:
    """Seconds of the best split whose parts may have several accelerators, of all splits."""
    best = np.inf
    for devices in product(range(work.accelerators), repeat=len(work)):
        placed = np.array(devices)
        if broken(work, placed, "load"):
            continue
        load, used = loads(work, placed), np.unique(placed)
        for copies in product(range(1, work.accelerators + 1), repeat=len(used)):
            if sum(copies) <= work.accelerators:
                best = min(best, float((load[used] / copies).max()))
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("training", [False, True])
def test_splits_with_copies_against_all_splits(seed: int, training: bool, tmp_path: Path) -> None:
    file = drawn(seed, training, n=3 if training else 6) | {"maxCPUs": 0, "maxFPGAs": 3}
    for each in file["nodes"]:
        each["supportedOnFpga"] = 1
    (tmp_path / "mine.json").write_text(json.dumps(file))
    work = read_workload(tmp_path / "mine.json")
    solved, expected = least(work, "load", copies=True), fastest_with_copies(work)
    assert solved.seconds == pytest.approx(expected) or (solved.devices is None and np.isinf(expected))
    if solved.devices is not None:
        assert solved.exact and solved.copies is not None and not broken(work, solved.devices, "load")
        used = np.unique(solved.devices)
        assert (np.cumsum(solved.copies[used])[:-1] == used[1:]).all() and solved.copies[used].sum() <= 3


@pytest.mark.slow
def test_one_accelerator_takes_all_work_however_it_is_rounded(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        nodes = [node(i, fpgaLatency=float(rng.random()), size=1.0) for i in range(30)]
        edges = [edge(i, i + 1) for i in range(29)]
        (tmp_path / "mine.json").write_text(json.dumps(content(nodes, edges, maxFPGAs=1, maxCPUs=0, maxSizePerFPGA=99)))
        solved = least(read_workload(tmp_path / "mine.json"), "load")
        assert solved.devices is not None and not solved.devices.any()


def check(task: Task, plan: Plan) -> None:
    """What holds for every plan."""
    assert plan.times is not None and (plan.peaks <= task.memory).all()
    assert plan.seconds >= task.bound * (1 - 1e-9)
    assert len(plan.peaks) <= task.problem.devices
    passes = [step for order in plan.listed for step in order]
    expected = product(range(len(plan.stages)), range(task.micro_batches), (False, True)[: 1 + plan.stages.training])
    assert sorted(passes) == sorted(expected)


@pytest.mark.parametrize("training", [False, True])
def test_equal_layers(training: bool) -> None:
    """Four devices have nearly four times the throughput of one, and the bubbles of the formula."""
    task = task_of(8, training, 4, 16)
    plans = best_plans(task, lambda plan: set(plan.copies) == {1})
    for plan in plans.values():
        check(task, plan)
    kinds = {"gpipe", "1f1b"} if training else {"pipeline"}
    assert plans.keys() == {"one device", "interleaved", *kinds}
    alone = plans["one device"]
    assert alone.seconds == pytest.approx(16 * task.problem.seconds.sum())
    for name in kinds:
        plan = plans[name]
        assert len(plan.stages) == 4 and alone.seconds / plan.seconds > 3
        assert plan.times is not None and plan.times.bubbles == pytest.approx(3 / 19, abs=0.05)
        assert plan.split.exact
    assert plans["interleaved"].seconds < plans["1f1b" if training else "pipeline"].seconds
    copies = best_plans(task)["copies"]
    check(task, copies)
    assert copies.copies == (4,) and (copies.seconds == pytest.approx(alone.seconds / 4)) == (not training)


@pytest.mark.slow
def test_memory_that_binds() -> None:
    """Less and less memory: copies of the whole, then stages, then stages that run forward anew; then nothing."""
    need = {name: float(plan.peaks.max()) for name, plan in best_plans(task_of(8, True, 4, 8)).items()}
    assert need["1f1b"] < need["copies"] and need["1f1b"] < need["gpipe"]
    tight = task_of(8, True, 4, 8, memory=need["1f1b"] * 0.99)
    plans = best_plans(tight)
    assert plans["copies"].times is None and plans["one device"].times is None
    assert plans["gpipe"].anew.any()
    for plan in plans.values():
        if plan.times is not None:
            check(tight, plan)
            assert plan.anew.any() or plan.peaks.max() <= tight.memory
    assert all(plan.times is None for plan in best_plans(task_of(8, True, 4, 8, memory=1e6)).values())


def test_a_slow_link_and_few_micro_batches_need_fewer_devices() -> None:
    task = task_of(4, False, 4, 1)
    best = min(best_plans(task).values(), key=lambda plan: plan.rank)
    assert best.name == "one device" and best.pipeline.devices == 1
    few = best_plans(task_of(4, False, 8, 3))["copies"]
    assert few.pipeline.devices == 3, "no more copies than micro-batches"


def test_without_operations() -> None:
    source = read_module(nn.Identity(), (torch.empty(2, 2),))
    plans = best_plans(Task(source, on_devices(source, 2), 1e9, 4))
    assert plans["one device"].seconds == 0
