"""Every way of stepping CartPole goes through the states of gymnasium's CartPole-v1."""

from __future__ import annotations

import importlib.util
import shutil

import gymnasium
import numpy as np
import pytest
import torch

from benchmarks.data_collection import sizes, strategies
from benchmarks.data_collection.calls import calls
from benchmarks.data_collection.ways import WAYS, Way, make

pytestmark = pytest.mark.slow

ENVIRONMENTS, STEPS = 700, 96  # more than a block of the compiled ways; most episodes end at least once
OURS = [way for way in WAYS if way not in ("gymnasium", "gymnasium_vector")]
ON_GPU = ("torch_gpu", "torch_compiled_gpu")


def states(way: Way, steps: int = STEPS) -> tuple[np.ndarray, ...]:
    """x, speed, angle, turn, steps, episode after that many steps."""
    if way.name.startswith("jax") and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed: pip install -e '.[collection]' -c constraints.txt")
    if way.name == "torch_compiled" and shutil.which("g++") is None:
        pytest.skip("TorchInductor needs g++: `make g++`")
    if way.name in ON_GPU and not torch.cuda.is_available():
        pytest.skip("there is no GPU here that torch can use")
    advance, present_states = make(way)
    for _ in range(steps // way.fused):
        advance()
    return present_states()


@pytest.fixture(scope="module")
def reference() -> tuple[np.ndarray, ...]:
    stepped = states(Way("gymnasium", ENVIRONMENTS))
    assert (stepped[5] > 0).mean() > 0.9  # otherwise no reset was tested
    return stepped


@pytest.mark.parametrize("name", OURS)
def test_every_way_goes_through_gymnasiums_states(name: str, reference: tuple[np.ndarray, ...]) -> None:
    """Float32 against gymnasium's float64, for 96 steps: the same episodes and steps, states to 1e-4."""
    fused = 8 if name in ("jax_scan", "jax_scan_unrolled", "numba", "numba_blocks") else 1
    stepped = states(Way(name, ENVIRONMENTS, fused, 4 if name == "jax_scan_unrolled" else 1))
    assert (stepped[5] == reference[5]).all() and (stepped[4] == reference[4]).all()
    for values, expected in zip(stepped[:4], reference[:4], strict=True):
        np.testing.assert_allclose(values, expected, atol=1e-4)


def test_gymnasiums_vector_entry_point_does_too_until_an_episode_ends() -> None:
    """After that it draws the next episode itself."""
    stepped, expected = states(Way("gymnasium_vector", 64), 8), states(Way("numpy", 64), 8)
    assert (expected[5] == 0).all()
    for values, expected_values in zip(stepped[:4], expected[:4], strict=True):
        np.testing.assert_allclose(values, expected_values, atol=1e-5)


def test_fusing_steps_changes_nothing() -> None:
    for name in ("numba", "numba_blocks"):
        for unfused, fused in zip(states(Way(name, 600)), states(Way(name, 600, 32)), strict=True):
            assert (unfused == fused).all()


@pytest.mark.parametrize("name", ["numpy", "torch", "jax_eager"])
def test_calls_of_the_backend_are_counted(name: str) -> None:
    """As many for many environments as for few; a compiled call counts once, whatever it holds."""
    if name == "jax_eager":
        pytest.importorskip("jax", reason="pip install -e '.[collection]' -c constraints.txt")
    count = calls(Way(name, 16))
    # physics alone: 2 calls for sine and cosine, 26 others; hashes, comparisons and choices come on top of that
    assert 80 < count < 400 and count == calls(Way(name, 1024))
    assert calls(Way("numba", 16, 8)) == 1 / 8 and calls(Way("gymnasium", 16)) == 16


def test_states_of_any_size_are_stepped_as_written() -> None:
    """Against the definition, in float64."""
    advance, states_ = sizes.advance(64, 4)
    before = states_.astype(np.float64)
    advance()
    for _ in range(4):
        before = 0.99 * before + 0.01 * np.roll(before, -1, axis=1)
    np.testing.assert_allclose(states_, before, atol=1e-5)


def test_strategies_of_the_paper_have_fewer_kernels() -> None:
    pytest.importorskip("jax", reason="pip install -e '.[collection]' -c constraints.txt")
    baseline, outside = (strategies.compiled(name, 64, 16) for name in ("baseline", "random_outside"))
    assert outside.kernels < baseline.kernels and outside.moved_bytes < baseline.moved_bytes


@pytest.mark.parametrize("name", strategies.STRATEGIES)
def test_every_strategy_goes_through_gymnasiums_states(name: str) -> None:
    """Float32 against gymnasium's float64, for 32 steps."""
    pytest.importorskip("jax", reason="pip install -e '.[collection]' -c constraints.txt")
    first, pushed = strategies.drawn(24, 32)
    expected = []
    for k in range(24):
        pole = gymnasium.make("CartPole-v1")
        pole.reset()
        pole.unwrapped.state = tuple(map(float, first[:, k]))  # type: ignore[attr-defined]
        for push in pushed[:, k]:
            pole.unwrapped.step(int(push))
        expected.append(pole.unwrapped.state)  # type: ignore[attr-defined]
    assert 0.2 < pushed.mean() < 0.8
    np.testing.assert_allclose(strategies.compiled(name, 24, 32).states().T, np.array(expected), atol=1e-4)
