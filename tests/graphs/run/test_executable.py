"""The executable form of a graph: the same work, operations that are large enough, and clear errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.read.graph import Operations, graph
from learned_schedulers.graphs.run.executable import KIND, executable, problem
from learned_schedulers.graphs.run.settings import Coarsening
from pipeline.graph_sets.exported import load
from tests.graphs.read.drawn import shuffled
from tests.graphs.run.made import COARSENING, MACHINE


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 80), st.booleans())
def test_work_is_kept_and_operations_are_large_enough(seed: int, n: int, edges: int, profiled: bool) -> None:
    original = shuffled(n, edges, np.random.default_rng(seed))[0]
    if not profiled:
        original = replace(original, seconds=np.zeros(0))
    executed = executable(original, COARSENING)
    assert set(executed.kinds) == {KIND} and len(executed) <= n and executed.family == original.family
    work = executed.flops / MACHINE.flops_per_second + executed.bytes_read / MACHINE.bytes_per_second
    assert work.sum() == pytest.approx(COARSENING.graph_seconds, rel=1e-3)
    assert len(executed) == 1 or work.min() >= COARSENING.least_seconds * 0.999
    copied = executed.bytes_written.sum() / MACHINE.copied_bytes_per_second
    sent = len(executed.children.targets) and copied > 0
    assert not sent or copied == pytest.approx(COARSENING.copy_run_times * COARSENING.graph_seconds, rel=1e-3)
    assert executed.bytes_kept.sum() == original.bytes_kept.sum()
    written = executed.bytes_written / MACHINE.bytes_per_second
    assert executed.seconds == pytest.approx(MACHINE.operation_seconds + work + written)
    assert executable(original, COARSENING).graph_id == executed.graph_id


def test_by_hand() -> None:
    """Two operations: a product of 3/4 of the work, a sweep of 1/4; only the first one's result is read."""
    operations = Operations(
        kinds=["mm", "relu"],
        flops=np.array([6e9, 0.0]),
        bytes_read=np.array([0, 4 * 10**8]),
        bytes_written=np.array([10**6, 4 * 10**8]),
        bytes_kept=np.array([7, 0]),
        layers=["a", "b"],
    )
    original = graph("pair", "family", "forward", operations, np.array([0]), np.array([1]))[0]
    executed = executable(original, Coarsening(machine=MACHINE, graph_seconds=1e-2, copy_run_times=0.1))
    assert executed.flops == pytest.approx([1.5e8, 0]) and executed.bytes_read.tolist() == [0, 2 * 10**7]
    assert executed.bytes_written.tolist() == [5 * 10**6, 0], "a tenth of 10 ms at 5 GB/s"
    assert executed.layers == ("a", "b") and executed.name == "pair_executable"


def test_a_real_graph_keeps_its_parallelism_and_says_what_is_lost() -> None:
    original = load("transformer_xl_8", "forward")
    executed = executable(original, Coarsening(machine=MACHINE, graph_seconds=0.04))
    of = problem(executed)
    assert len(original) > 800 and 50 < len(executed) <= 400
    assert of.seconds.sum() / of.critical_path > 2


def test_a_graph_without_work_is_refused() -> None:
    nothing = np.zeros(2, np.int64)
    operations = Operations(["view", "view"], np.zeros(2), nothing, nothing, nothing)
    original = graph("views", "family", "forward", operations, np.zeros(0), np.zeros(0))[0]
    with pytest.raises(ValueError, match="graph views: its operations have no FLOPs, bytes or seconds"):
        executable(original, COARSENING)
