"""One suite for every scheduler: permutations, dependencies, determinism, never better than the optimum."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pipeline.config import Scheduler as Settings
from pipeline.dag.counting import count_orders
from pipeline.dag.topology import count_violations
from pipeline.models.imitator import Imitator
from pipeline.models.inputs import Vocabulary
from pipeline.models.pocsnet import POCSNet
from pipeline.models.problems import Blocks, token_trie
from pipeline.schedulers import Request, find, methods
from tests.models import imitated, made

STORE, ENCODINGS, SAMPLE = imitated.corpus(60, shortest=5, longest=5)
BLOCKS = Blocks(
    SAMPLE.block_ids.to_pylist(),
    STORE.as_emitted(SAMPLE.rows),
    np.stack(SAMPLE.orders),
    token_trie(np.split(ENCODINGS.bags, ENCODINGS.bounds[1:-1]), len(ENCODINGS.tokens)),
)
SHOWN = BLOCKS.shown(BLOCKS.input_order)
HEADS = ["pointer", "pairwise", "sinkhorn", "popocs"]


@pytest.fixture
def request_for(tmp_path: Path):  # type: ignore[no-untyped-def]
    def make(method: str) -> Request:
        torch.manual_seed(0)
        method, _, head = method.partition(" ")
        path = tmp_path / "weights.safetensors"
        if head:
            Imitator(Vocabulary(ENCODINGS.tokens), imitated.settings("attention", head)).save(path)
        else:
            save_file(POCSNet(5, BLOCKS.trie.n_tokens, made.SETTINGS).state_dict(), path)
        return Request(Settings(method=method, iterations=20), made.SETTINGS, path, BLOCKS, ENCODINGS)

    return make


def schedulers() -> list[str]:
    """All methods; the imitator with each of its heads."""
    return [name for name in methods() if name != "imitator"] + [f"imitator {head}" for head in HEADS]


def schedule(method: str, request_for, seed: int = 0) -> dict[str, np.ndarray]:  # type: ignore[no-untyped-def]
    return find(method.split()[0])(request_for(method)).schedule(SHOWN, np.random.default_rng(seed))


def single_issue_cycles(precedes: np.ndarray, latencies: np.ndarray, order: np.ndarray) -> int:
    """Makespan of an order on a machine that issues one instruction a cycle, in order."""
    done, cycle = np.zeros(len(order), int), 0
    for i in order:
        cycle = max([cycle, *(done[k] for k in np.flatnonzero(precedes[:, i]))])
        done[i] = cycle + latencies[i]
        cycle += 1
    return int(done.max())


@pytest.mark.parametrize("method", schedulers())
def test_permutations(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    for order in schedule(method, request_for).values():
        assert order.shape == (60, 5)
        np.testing.assert_array_equal(np.sort(order, 1), np.tile(np.arange(5), (60, 1)))


@pytest.mark.parametrize("method", schedulers())
def test_dependencies(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    """Whatever does not match freely is legal; the network's Hungarian decoding alone may violate."""
    for decoder, order in schedule(method, request_for).items():
        if decoder != "hungarian":
            assert (count_violations(SHOWN.precedes, order) == 0).all()


@pytest.mark.parametrize("method", schedulers())
def test_same_seed_same_orders(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    first, second = (schedule(method, request_for, 5) for _ in range(2))
    for decoder in first:
        np.testing.assert_array_equal(first[decoder], second[decoder])


@pytest.mark.parametrize("method", schedulers())
def test_never_better_than_the_optimum(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    for order in schedule(method, request_for).values():
        for precedes, latencies, found in zip(SHOWN.precedes[:10], SHOWN.latencies, order, strict=False):
            if count_violations(precedes[None], found[None])[0]:
                continue
            legal = [
                p for p in map(np.array, permutations(range(5))) if not count_violations(precedes[None], p[None])[0]
            ]
            best = min(single_issue_cycles(precedes, latencies, p) for p in legal)
            assert single_issue_cycles(precedes, latencies, found) >= best


def test_critical_path_beats_random_orders_and_is_mostly_optimal(request_for) -> None:  # type: ignore[no-untyped-def]
    order = find("critical_path")(request_for("critical_path")).schedule(SHOWN, np.random.default_rng(0))["none"]
    cycles, best = [], []
    for precedes, latencies, found in zip(SHOWN.precedes, SHOWN.latencies, order, strict=True):
        legal = [p for p in map(np.array, permutations(range(5))) if not count_violations(precedes[None], p[None])[0]]
        cycles.append(single_issue_cycles(precedes, latencies, found))
        best.append(min(single_issue_cycles(precedes, latencies, p) for p in legal))
    assert np.mean(np.array(cycles) == np.array(best)) > 0.9


def test_a_random_legal_order_is_gccs_as_often_as_there_are_orders(request_for) -> None:  # type: ignore[no-untyped-def]
    """What a scheduler that has learned nothing reaches: the mean of 1 / (number of legal orders)."""
    block, before, after = BLOCKS.problems.precedes.nonzero()
    offsets = np.searchsorted(block, np.arange(len(BLOCKS.block_ids) + 1))
    counts, _ = count_orders(offsets, before, after, np.full(len(BLOCKS.block_ids), 5))
    scheduler, rng, draws = find("random_legal")(request_for("random_legal")), np.random.default_rng(0), 400
    exact = np.zeros(len(counts))
    for _ in range(draws):
        order = scheduler.schedule(SHOWN, rng)["none"].astype(int)
        exact += (np.take_along_axis(BLOCKS.input_order, order, 1) == np.arange(5)).all(1)
    spread = np.sqrt((1 / counts * (1 - 1 / counts)).sum() / draws) / len(counts)
    assert (exact / draws).mean() == pytest.approx((1 / counts).mean(), abs=4 * spread)


def test_gcc_gives_the_label() -> None:
    order = find("gcc")(Request(Settings(method="gcc"), None, None, BLOCKS)).schedule(SHOWN, np.random.default_rng(0))
    back = np.take_along_axis(BLOCKS.input_order, order["none"].astype(int), 1)
    np.testing.assert_array_equal(back, np.tile(np.arange(5), (60, 1)))


def test_an_unknown_scheduler_is_named() -> None:
    with pytest.raises(ValueError, match=r"no scheduler 'sinkhron'; there are \['critical_path'"):
        find("sinkhron")
