"""Pieces of random plans never wait for each other in a circle, and calls that cost time are joined."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.plans.pieces import cutting
from learned_schedulers.graphs.plans.pieces.cutting import Cut, cut
from learned_schedulers.graphs.problems.problem import Edges


def parents_of(pairs: list[tuple[int, int]], count: int) -> Edges:
    """Edges from each unit to its parents. pairs: (parent, unit)."""
    ends = np.array(sorted((target, source) for source, target in set(pairs)), np.int64).reshape(-1, 2)
    offsets = np.r_[0, np.cumsum(np.bincount(ends[:, 0], minlength=count))]
    return Edges(offsets.astype(np.int32), ends[:, 1].astype(np.int32))


def simulated(pieces: Cut, parents: Edges, placement: np.ndarray, seconds: np.ndarray, call: float) -> float:
    """Seconds of pieces, by an independent simulation in their topological order."""
    ends = np.zeros(len(pieces))
    clock = [0.0, 0.0]
    work = np.bincount(pieces.of_units, seconds, len(pieces))
    for piece in range(len(pieces)):
        before = pieces.parents.targets[pieces.parents.offsets[piece] : pieces.parents.offsets[piece + 1]]
        assert (before < piece).all(), "pieces are not in a topological order"
        device = int(pieces.devices[piece])
        assert (placement[pieces.of_units == piece] == device).all()
        clock[device] = ends[piece] = max(clock[device], ends[before].max(initial=0)) + work[piece] + call
    for unit, parent in zip(parents.sources.tolist(), parents.targets.tolist(), strict=True):
        assert pieces.of_units[parent] <= pieces.of_units[unit]
    return max(clock)


@pytest.mark.parametrize("seed", range(20))
def test_random_plans(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    pairs = [(int(rng.integers(0, i)), i) for i in range(1, count) for _ in range(int(rng.integers(0, 3)))]
    parents, placement = parents_of(pairs, count), rng.integers(0, 2, count)
    seconds, call = rng.random(count), float(rng.choice([1e-6, 0.1, 10.0]))
    pieces = cut(parents, rng.permutation(count), placement, seconds, call)
    assert pieces.seconds == pytest.approx(simulated(pieces, parents, placement, seconds, call))
    cheap = cut(parents, np.arange(count), placement, seconds, 0.0)
    assert cheap.seconds <= seconds.sum() + 1e-9


def test_a_chain_on_one_device_is_one_piece() -> None:
    parents = parents_of([(i, i + 1) for i in range(9)], 10)
    assert len(cut(parents, np.arange(10), np.zeros(10, np.int64), np.ones(10), 0.1)) == 1
    halves = cut(parents, np.arange(10), np.arange(10) // 5, np.ones(10), 0.1)
    assert halves.devices.tolist() == [0, 1] and halves.seconds == pytest.approx(10.2)


def test_towers_stay_parallel() -> None:
    pairs = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)]
    placement = np.array([0, 0, 1, 0, 1, 0])
    pieces = cut(parents_of(pairs, 6), np.arange(6), placement, np.ones(6), 0.01)
    assert pieces.seconds == pytest.approx(4.03) and len(pieces) == 4


def test_too_many_pieces_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "_MOST", 6)
    pairs = [(i, i + 1) for i in range(39)]
    turns = np.arange(40) % 2
    pieces = cut(parents_of(pairs, 40), np.arange(40), turns, np.ones(40), 0.0)
    assert len(pieces) == 40, "each unit waits for the one before it, so that no two can be joined"
    loose = [(i, i + 2) for i in range(38)] + [(i, i + 3) for i in range(0, 36, 6)]
    pieces = cut(parents_of(loose, 40), np.arange(40), turns, np.ones(40), 0.0)
    assert len(pieces) <= 6
