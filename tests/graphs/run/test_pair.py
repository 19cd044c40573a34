"""Two processes run schedules in the right sequence, with the right results; and the failure of a process."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run import pair as pair_module
from learned_schedulers.graphs.run.executable import problem
from learned_schedulers.graphs.run.pair import ExecutionError, Pair, Record, two_cores
from tests.graphs.problems import drawn
from tests.graphs.read.drawn import shuffled
from tests.graphs.run.made import tiny

pytestmark = pytest.mark.slow

needs_two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="schedules are executed on two cores")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Pair(20.0) as started:
        yield started


def schedules(graph: Graph, count: int) -> tuple[np.ndarray, np.ndarray]:
    return drawn.schedules(problem(graph), np.random.default_rng(3), count)


def check(graph: Graph, orders: np.ndarray, placements: np.ndarray, sequence: np.ndarray, record: Record) -> None:
    """Every operation begins after the ends of its parents and of the previous operation on its device."""
    sources, targets = graph.children.sources, graph.children.targets
    assert (record.begins[:, targets] >= record.ends[:, sources]).all()
    assert (record.ends > record.begins).all() and (record.begins > 0).all()
    for run, schedule in enumerate(sequence):
        for device in (0, 1):
            chain = orders[schedule][placements[schedule][orders[schedule]] == device]
            assert (record.begins[run, chain[1:]] >= record.ends[run, chain[:-1]]).all()
    assert record.makespans == pytest.approx(record.ends.max(1))
    assert record.disturbances.shape == (len(sequence),) and (record.disturbances >= 0).all()


@needs_two_cores
@pytest.mark.parametrize("seed", range(3))
def test_operations_run_when_they_should(pair: Pair, seed: int) -> None:
    graph = tiny(seed)
    orders, placements = schedules(graph, 4)
    sequence = np.array([0, 1, 2, 3, 3, 0])
    check(graph, orders, placements, sequence, pair.run(graph, orders, placements, sequence))


@needs_two_cores
def test_one_operation_and_none(pair: Pair) -> None:
    single = tiny(0, 1, 0)
    record = pair.run(single, np.array([[0]]), np.array([[1]]), np.zeros(2, int))
    assert record.makespans.shape == (2,) and (record.makespans > 1e-4).all()
    none = shuffled(0, 0, np.random.default_rng(0))[0]
    assert (
        pair.run(none, np.zeros((1, 0), int), np.zeros((1, 0), int), np.zeros(3, int)).makespans.tolist() == [0.0] * 3
    )


@needs_two_cores
def test_what_cannot_be_run_is_refused_and_the_pair_goes_on(pair: Pair) -> None:
    graph = tiny()
    orders, placements = schedules(graph, 2)
    backwards = np.stack([orders[0], orders[1][::-1]])
    with pytest.raises(ValueError, match=r"schedule 1, slot 0: operation .* comes before operation"):
        pair.run(graph, backwards, placements, np.array([0]))
    with pytest.raises(ValueError, match=r"schedule 0, slot 0: operation .* is on device 2; there are 2"):
        pair.run(graph, orders, np.full_like(placements, 2), np.array([0]))
    original = shuffled(4, 4, np.random.default_rng(0))[0]
    with pytest.raises(ValueError, match=r"graph drawn: operation 0 is of the kind 'kind_.'; .* coarsen_graphs"):
        pair.run(original, np.arange(4)[None], np.zeros((1, 4), int), np.array([0]))
    assert len(pair.run(graph, orders, placements, np.array([0, 1])).makespans) == 2


@needs_two_cores
def test_results_that_are_not_those_of_the_parents_are_found(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong stamps stand for a device that read wrong results."""
    right = pair_module.stamps
    monkeypatch.setattr(pair_module, "stamps", lambda parents, runs: right(parents, runs + 1))
    graph = tiny()
    with pytest.raises(ExecutionError, match="schedule 1: operation 0 did not read its parents' results"):
        pair.run(graph, *schedules(graph, 2), np.array([1]))


def _killed(lost: Pair) -> None:
    lost.processes[1].kill()


def _stopped(lost: Pair) -> None:
    with contextlib.suppress(ProcessLookupError):  # on a busy machine it may already be gone
        os.kill(lost.processes[0].pid, signal.SIGSTOP)


@needs_two_cores
@pytest.mark.parametrize(
    ("lose", "limit_seconds", "message"),
    [
        (_killed, 60.0, "a process died with code -9"),
        (_stopped, 1.0, "TimeoutError: device 0 does not answer|nothing has happened for 1 seconds"),
    ],
)
def test_a_lost_process_is_an_error_and_leaves_nothing(
    lose: Callable[[Pair], None], limit_seconds: float, message: str
) -> None:
    graph = tiny()
    orders, placements = schedules(graph, 2)
    before = sorted(Path("/dev/shm").iterdir())
    with Pair(limit_seconds) as lost:
        timer = threading.Timer(0.3, lose, (lost,))
        timer.start()
        with pytest.raises(ExecutionError, match=f"graph drawn_executable on two cores: ({message})"):
            for _ in range(100):
                lost.run(graph, orders, placements, np.zeros(2000, int))
        timer.join()
        assert not any(process.is_alive() for process in lost.processes)
        with pytest.raises(ExecutionError, match="a process died with code -9; start again"):
            lost.run(graph, orders, placements, np.array([0]))
    assert sorted(Path("/dev/shm").iterdir()) == before


def test_one_core_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    with pytest.raises(ExecutionError, match=r"on two cores, and this process may use 1 \(\[3\]\); start it without"):
        Pair()


def test_threads_of_one_core_are_left_out_where_there_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(pair_module, "_threads", lambda core: {0, 1, 2})
    assert two_cores() == (0, 3)
    monkeypatch.setattr(pair_module, "_threads", lambda core: {0, 1, 2, 3})
    assert two_cores() == (0, 1)
