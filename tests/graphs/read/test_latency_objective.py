"""The published latency of a split: by hand, on the expert's split, and against plain Python over networkx."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from learned_schedulers.graphs.read.latency_objective import latency
from learned_schedulers.graphs.read.workloads import CPU, Workload, read_split, read_workload
from tests.graphs.read.test_workloads import FILES, content, edge, node


def workload(tmp_path: Path, times: list[tuple[float, float]], edges: list[tuple[int, int, float]]) -> Workload:
    """times: milliseconds on a CPU and on an accelerator of nodes 0, 1, ...; edges: source, target, cost."""
    nodes = [node(i, cpuLatency=cpu, fpgaLatency=fast) for i, (cpu, fast) in enumerate(times)]
    (tmp_path / "mine.json").write_text(json.dumps(content(nodes, [edge(*ends) for ends in edges], maxFPGAs=3)))
    return read_workload(tmp_path / "mine.json")


# 0 -> 1 -> 3, 0 -> 2 -> 3
TIMES = [(10.0, 1.0), (20.0, 2.0), (30.0, 4.0), (40.0, 8.0)]
EDGES = [(0, 1, 0.5), (0, 2, 0.5), (1, 3, 0.25), (2, 3, 0.125)]


@pytest.mark.parametrize(
    ("placement", "milliseconds"),
    [
        ([CPU, CPU, CPU, CPU], 80.0),  # 0, then 1 and 2 at the same time, then 3
        ([0, 0, 0, 0], 15.0),
        ([0, 1, CPU, CPU], 1.5 + 30 + 40),  # 0 stores its result once; 2 ends after 1
        ([0, 1, 1, 1], 1.5 + 0.5 + 14),  # and block 1 loads it once
        ([0, 0, 0, 1], 7 + 0.375 + 0.375 + 8),
        # No path to operation 2 leaves the accelerator, so it stays in the first block. Operation 3 is the second
        # block, which loads the result of 2 after the first block has stored it.
        ([0, CPU, 0, 0], (5 + 0.5 + 0.125) + 20 + (0.25 + 0.125 + 8)),
    ],
)
def test_by_hand(placement: list[int], milliseconds: float, tmp_path: Path) -> None:
    work = workload(tmp_path, TIMES, EDGES)
    result = latency(work, np.array(placement))
    assert (result.status, result.seconds * 1000) == ("ok", pytest.approx(milliseconds))


def test_blocks_that_wait_for_each_other(tmp_path: Path) -> None:
    """0 -> 1 and 2 -> 3 with 0, 3 on one accelerator and 1, 2 on another: each is contiguous, but both wait."""
    work = workload(tmp_path, TIMES, [(0, 1, 0.5), (2, 3, 0.5)])
    result = latency(work, np.array([0, 1, 1, 0]))
    assert (result.status, result.seconds) == ("cyclic", np.inf)


def test_too_many_blocks_and_too_little_memory(tmp_path: Path) -> None:
    chain = workload(tmp_path, TIMES + TIMES, [(i, i + 1, 0.5) for i in range(7)])
    result = latency(chain, np.array([0, CPU, 0, CPU, 0, CPU, 0, CPU]))
    assert (result.status, result.seconds, result.blocks.max()) == ("too many blocks", np.inf, 3)
    full = latency(chain, np.array([0, 0, 1, 1, 1, CPU, CPU, CPU]))
    assert (full.status, full.too_large) == ("ok", (1,))  # 3 x 8 bytes, but 16 fit


def by_longest_path(work: Workload, blocks: np.ndarray) -> float:
    """Seconds by an independent implementation of the rules over networkx."""
    unit = {i: f"block {block}" if block != CPU else f"node {i}" for i, block in enumerate(blocks.tolist())}
    edges = [*zip(work.graph.children.sources.tolist(), work.graph.children.targets.tolist(), strict=True)]
    quotient = nx.DiGraph()
    quotient.add_nodes_from(unit.values())
    quotient.add_edges_from((unit[i], unit[j]) for i, j in edges if unit[i] != unit[j])
    ends: dict[str, float] = {}
    for name in nx.topological_sort(quotient):
        inside = {i for i in unit if unit[i] == name}
        if name.startswith("block"):
            duration = sum(work.accelerator_seconds[i] for i in inside)
            duration += sum(work.transfer_seconds[i] for i in {i for i, j in edges if i not in inside and j in inside})
            duration += sum(work.transfer_seconds[i] for i in {i for i, j in edges if i in inside and j not in inside})
        else:
            duration = sum(work.cpu_seconds[i] for i in inside)
        ends[name] = max((ends[before] for before in quotient.predecessors(name)), default=0.0) + duration
    return max(ends.values())


def test_the_expert_on_resnet50() -> None:
    """The blocks are contiguous; all but the first and the last exceed 2 GiB, which the published rules allow."""
    work = read_workload(FILES / "resnet50_inference.json")
    expert = read_split(FILES / "resnet50_inference_expert.json", work)
    result = latency(work, expert)
    assert result.blocks.tolist() == expert.tolist()
    assert result.status == "ok" and result.seconds == pytest.approx(by_longest_path(work, expert), rel=1e-12)
    sizes = np.bincount(expert, work.graph.bytes_kept)
    assert result.too_large == tuple(np.flatnonzero(sizes > 2 * 2**30).tolist())
    alone = latency(work, np.zeros(len(work), int))
    assert alone.seconds == pytest.approx(work.accelerator_seconds.sum()) and alone.seconds < result.seconds


@pytest.mark.parametrize("name", ["bert_l-3_inference", "resnet50_inference"])
def test_as_plain_python_on_random_splits(name: str) -> None:
    """Blocks are contiguous, as few as possible, and have the costs of the rules."""
    work = read_workload(FILES / f"{name}.json")
    rng = np.random.default_rng(0)
    whole = nx.DiGraph(zip(work.graph.children.sources.tolist(), work.graph.children.targets.tolist(), strict=True))
    compared = 0
    for _ in range(12):
        placement = np.searchsorted(np.sort(rng.integers(0, len(work), 2)), np.arange(len(work)))
        placement = np.where(rng.random(len(work)) < 0.01, CPU, placement)
        result = latency(work, placement)
        for block in range(result.blocks.max() + 1):
            inside = set(np.flatnonzero(result.blocks == block).tolist())
            outside = {j for i in inside if i in whole for j in whole.successors(i)} - inside
            behind = outside.union(*(nx.descendants(whole, i) for i in outside))
            assert not behind & inside
        if result.status == "ok":
            compared += 1
            assert result.seconds == pytest.approx(by_longest_path(work, result.blocks), rel=1e-12)
    assert compared > 2
