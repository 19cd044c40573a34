"""Relations of instructions against slow definitions, whatever the order in which they are shown."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.topology import closure
from learned_schedulers.blocks.problems import relations as module
from learned_schedulers.blocks.problems.relations import NODE, PAIR, independent, relations
from tests.blocks.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(120, shortest=6, longest=6)
SHOWN = STORE.problems(SAMPLE.rows, np.stack(SAMPLE.orders))
FOUND = relations(SHOWN, ENCODINGS.compared)


def longest(weights: dict[tuple[int, int], int], i: int) -> int:
    """Of all paths from i, by recursion."""
    return max((weight + longest(weights, k) for (a, k), weight in weights.items() if a == i), default=0)


def delays(b: int) -> dict[tuple[int, int], int]:
    result = {}
    for i, k in zip(*SHOWN.conflicts[b].nonzero(), strict=True):
        kind = Kind(int(SHOWN.conflicts[b, i, k]))
        flow = kind & (Kind.REGISTER_RAW | Kind.FLAG_RAW | Kind.MEMORY_RAW)
        output = kind & (Kind.REGISTER_WAW | Kind.FLAG_WAW | Kind.MEMORY_WAW)
        result[int(i), int(k)] = int(SHOWN.latencies[b, i]) if flow else int(bool(output))
    return result


def test_nodes() -> None:
    starts = np.cumsum(list(NODE.values())) - list(NODE.values())
    reach = closure(SHOWN.conflicts > 0)
    for b in range(40):
        weights = delays(b)
        back = {(k, i): weight for (i, k), weight in weights.items()}
        for i in range(6):
            expected = {
                "depth": longest(back, i),
                "height": longest(weights, i),
                "ancestors": reach[b, :, i].sum(),
                "descendants": reach[b, i].sum(),
                "conflicts_before": (SHOWN.conflicts[b, :, i] > 0).sum(),
                "conflicts_after": (SHOWN.conflicts[b, i] > 0).sum(),
                "block_length": 6,
                "latency": SHOWN.latencies[b, i],
            }
            assert dict(zip(NODE, FOUND.nodes[b, i] - starts, strict=True)) == expected
            assert FOUND.heights[b, i] == expected["height"]


def test_pairs_that_no_path_orders() -> None:
    reach = closure(SHOWN.conflicts > 0)
    np.testing.assert_array_equal(independent(FOUND), ~(reach | reach.transpose(0, 2, 1) | np.eye(6, dtype=bool)))


def test_another_legal_order_shows_the_same_relations() -> None:
    again = relations(STORE.as_emitted(SAMPLE.rows), ENCODINGS.compared)
    order = np.stack(SAMPLE.orders).astype(int)
    rows = np.arange(len(order))[:, None]
    np.testing.assert_array_equal(FOUND.nodes, again.nodes[rows, order])
    np.testing.assert_array_equal(FOUND.pairs, again.pairs[rows[:, :, None], order[:, :, None], order[:, None, :]])


def test_categories_stay_in_their_tables() -> None:
    ends = np.cumsum(list(PAIR.values()))
    assert (FOUND.pairs < ends).all()
    assert (FOUND.pairs >= ends - list(PAIR.values())).all()
    assert FOUND.nodes.max() < module.N_NODE


def row(code: str) -> int:
    """Of the made-up instructions, among the distinct ones."""
    return sorted(imitated.INSTRUCTIONS).index(bytes.fromhex(code))


def test_how_two_addresses_lie() -> None:
    compared = ENCODINGS.compared
    low, high, store = row("488b4f08"), row("488b5710"), row("48894e08")  # [rdi+8], [rdi+16], [rsi+8]
    assert module.address_category(compared, low, high) == 5  # right above
    assert module.address_category(compared, high, low) == 4
    assert module.address_category(compared, low, low) == 3
    assert module.address_category(compared, low, store) == 2
    assert module.address_category(compared, low, row("31c0")) == 0


def test_what_two_instructions_share() -> None:
    compared = ENCODINGS.compared
    five, seven = row("83c205"), row("83c307")  # add edx, 5; add ebx, 7
    assert module.same_category(compared, five, seven) == 2  # the same opcode, a greater constant
    assert module.same_category(compared, seven, five) == 3
    xor = row("31c0")
    assert module.same_category(compared, xor, xor) == 1 + 4 + 8 + 16 + 32  # all four pairings of its operands are rax
