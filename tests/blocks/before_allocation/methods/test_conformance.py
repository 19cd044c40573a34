"""What every method before allocation keeps: legal orders, the same for a seed, of blocks of any size and shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import methods
from learned_schedulers.blocks.before_allocation.methods import METHODS
from tests.blocks.before_allocation.random_problems import chain, drawn, legal

NAMES = sorted(METHODS)


def test_every_file_is_offered() -> None:
    files = {path.stem for path in Path(methods.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(8))
def test_orders_are_legal_and_the_same_for_a_seed(name: str, seed: int) -> None:
    problem = drawn(5 + 9 * seed, seed, enters=seed, memory=0.05 * seed)
    order = METHODS[name](problem, np.random.default_rng(seed))
    assert order.dtype == np.int64 and legal(problem, order)
    again = METHODS[name](problem, np.random.default_rng(seed))
    assert order.tolist() == again.tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_chains_have_one_order(name: str, n: int) -> None:
    order = METHODS[name](chain(n), np.random.default_rng(0))
    assert order.shape == (n,) and order.tolist() == list(range(n))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory", [0.0, 1.0])
def test_long_blocks(name: str, memory: float) -> None:
    problem = drawn(2000, 1, enters=10, nearness=0.02, memory=memory)
    assert legal(problem, METHODS[name](problem, np.random.default_rng(0)))


@pytest.mark.parametrize("name", [name for name in NAMES if "random" in name])
def test_draws_differ(name: str) -> None:
    problem = drawn(80, 3, nearness=0.05)
    rng = np.random.default_rng(0)
    assert len({tuple(METHODS[name](problem, rng).tolist()) for _ in range(10)}) > 5


@pytest.mark.parametrize("name", [name for name in NAMES if "random" not in name])
def test_others_draw_nothing(name: str) -> None:
    problem = drawn(80, 3, nearness=0.05)
    rng = np.random.default_rng(0)
    METHODS[name](problem, rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
