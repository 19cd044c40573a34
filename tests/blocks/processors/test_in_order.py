"""The in-order pipeline by hand, by its properties, and instruction by instruction."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.processors.in_order import Costs, simulate

WIDTH = 2


class Op(NamedTuple):
    """An instruction on two ports."""

    latency: int = 1
    ports: tuple[int, int] = (0, 0)  # cycles for which it holds each
    either: int = 0  # cycles for which it holds any one of them
    micro_ops: int = 1


ALU = Op(either=1)
LOAD = Op(ports=(1, 0))
LEA = Op(ports=(0, 1))
MULTIPLY = Op(latency=5, ports=(2, 0))
DIVIDE = Op(latency=130, ports=(130, 130), micro_ops=38)


def costs(ops: list[Op], delays: dict[tuple[int, int], int] | None = None) -> Costs:
    """One block; delays: (i, k) -> cycles."""
    n = len(ops)
    waits = np.zeros((1, n, n), np.int16)
    for (i, k), cycles in (delays or {}).items():
        waits[0, i, k] = cycles
    return Costs(
        micro_ops=np.array([[op.micro_ops for op in ops]], np.int32),
        latencies=np.array([[op.latency for op in ops]], np.int32),
        unit_cycles=np.array([[op.ports for op in ops]], np.int32).reshape(1, n, 2),
        choice=np.array([[0 if op.either else -1 for op in ops]], np.int32),
        choice_cycles=np.array([[op.either for op in ops]], np.int32),
        delays=waits,
        groups=np.array([0b11], np.int64),
        issue_width=WIDTH,
    )


def run(block: Costs, order: list[int] | None = None) -> tuple[list[int], int]:
    """Issue cycles by slot, and the makespan."""
    n = block.latencies.shape[1]
    timing = simulate(block, np.array([[range(n) if order is None else order]], np.int16).reshape(1, 1, n))
    return timing.issue[0, 0].tolist(), int(timing.makespan[0, 0])


HAND = {
    "nothing": ([], {}, [], 1),
    "two at once": ([ALU, ALU], {}, [0, 0], 2),
    "issue width": ([ALU] * 3, {}, [0, 0, 1], 3),
    "latency": ([MULTIPLY, MULTIPLY], {(0, 1): 5}, [0, 5], 11),
    "a later result is not waited for": ([MULTIPLY, MULTIPLY], {(1, 0): 5}, [0, 2], 8),
    "late read": ([MULTIPLY, MULTIPLY], {(0, 1): 3}, [0, 3], 9),
    "port conflict": ([LOAD, LOAD], {}, [0, 1], 3),
    "different ports": ([LOAD, LEA], {}, [0, 0], 2),
    "either port: the highest first": ([ALU, LOAD, LEA], {}, [0, 0, 1], 3),
    "either port: the other one's turn": ([ALU, LOAD, ALU, LOAD], {}, [0, 0, 1, 1], 3),
    "either port: the wrong one taken": ([ALU, LEA], {}, [0, 1], 3),
    "write-back in order": ([MULTIPLY, ALU], {}, [0, 4], 6),
    "write-back in order, in parallel": ([MULTIPLY, MULTIPLY, ALU], {}, [0, 2, 6], 8),
    "long divide after": ([ALU, DIVIDE], {}, [0, 1], 132),
    "long divide before": ([DIVIDE, ALU, ALU], {}, [0, 130, 130], 132),
    "micro-ops carried over": ([Op(micro_ops=3), Op(), Op()], {}, [0, 1, 2], 4),
    "many micro-ops start at once": ([Op(), Op(), Op(micro_ops=3), Op()], {}, [0, 0, 0, 2], 4),
    "as many as fit wait": ([Op(), Op(micro_ops=2)], {}, [0, 1], 3),
    "nothing but micro-ops": ([Op(latency=0, micro_ops=4)], {}, [0], 2),
}


@pytest.mark.parametrize(("ops", "delays", "issue", "makespan"), HAND.values(), ids=HAND)
def test_by_hand(ops: list[Op], delays: dict, issue: list[int], makespan: int) -> None:
    assert run(costs(ops, delays)) == (issue, makespan)


ops = st.builds(
    Op,
    latency=st.integers(0, 7),
    ports=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    either=st.integers(0, 3),
    micro_ops=st.integers(1, 5),
).map(lambda op: op._replace(either=0) if any(op.ports) else op)


@st.composite
def blocks(draw: st.DrawFn, least: int = 1) -> tuple[list[Op], dict[tuple[int, int], int]]:
    """Instructions, and delays of some of their pairs: up to the latency of the first."""
    drawn = draw(st.lists(ops, min_size=least, max_size=8))
    pairs = [(i, k) for i in range(len(drawn)) for k in range(len(drawn)) if i != k]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return drawn, {(i, k): draw(st.integers(0, drawn[i].latency)) for i, k in chosen}


@given(blocks())
def test_bounds(block: tuple[list[Op], dict[tuple[int, int], int]]) -> None:
    """Never shorter than the longest path, the micro-ops or any port allow."""
    drawn, delays = block
    issue, makespan = run(costs(drawn, delays))
    earliest = [0] * len(drawn)
    for k in range(len(drawn)):
        earliest[k] = max([earliest[i] + delays.get((i, k), 0) for i in range(k)], default=0)
        assert issue[k] >= earliest[k]
    assert issue == sorted(issue)
    ends = [start + op.latency for start, op in zip(issue, drawn, strict=True)]
    assert ends == sorted(ends)
    assert makespan > max(ends)
    assert makespan * WIDTH >= sum(op.micro_ops for op in drawn)
    for port in range(2):
        uses = [(start, op.ports[port]) for start, op in zip(issue, drawn, strict=True) if op.ports[port]]
        for (start, cycles), (following, _) in pairwise(uses):
            assert start + cycles <= following


@given(blocks(), st.data())
def test_equal_independent_instructions_may_change_places(
    block: tuple[list[Op], dict[tuple[int, int], int]], draws: st.DataObject
) -> None:
    drawn, delays = block
    twin = len(drawn)
    original = draws.draw(st.integers(0, twin - 1))
    for (i, k), cycles in list(delays.items()):
        if original in (i, k):
            delays[(twin if i == original else i, twin if k == original else k)] = cycles
    block_with_twin = costs([*drawn, drawn[original]], delays)
    order = draws.draw(st.permutations(range(twin + 1)))
    swapped = [{original: twin, twin: original}.get(i, i) for i in order]
    assert run(block_with_twin, order) == run(block_with_twin, swapped)


@given(blocks(least=2), st.integers(1, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_batch_is_one_by_one(block: tuple[list[Op], dict], size: int, n_orders: int, random: Random) -> None:
    drawn, delays = block
    n = len(drawn)
    parts = []
    for _ in range(size):
        random.shuffle(drawn)
        parts.append(costs(drawn, {pair: min(cycles, drawn[pair[0]].latency) for pair, cycles in delays.items()}))
    arrays = [np.concatenate([part[field] for part in parts]) for field in range(6)]
    batch = Costs(*arrays, parts[0].groups, WIDTH)  # type: ignore[call-arg]
    orders = np.array([[random.sample(range(n), n) for _ in range(n_orders)] for _ in range(size)])
    timing = simulate(batch, orders)
    for b, part in enumerate(parts):
        for k in range(n_orders):
            assert run(part, orders[b, k].tolist()) == (timing.issue[b, k].tolist(), timing.makespan[b, k])


@pytest.mark.parametrize("order", [[0, 0], [0, 2], [-1, 0]])
def test_no_permutation(order: list[int]) -> None:
    with pytest.raises(ValueError, match="block 0 has an order that is not a permutation"):
        run(costs([ALU, ALU]), order)
