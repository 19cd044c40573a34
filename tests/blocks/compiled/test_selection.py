"""Orders as permutations, the choice among several input orders of a block, and the counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.dependencies import Kind, block_dag
from pipeline.corpus.compiled.permutations import input_order, kendall_tau_distance, violated
from pipeline.corpus.compiled.selection import Observed, select
from pipeline.corpus.tables import BLOCKS

FREE = "01d889d129f7"  # add eax, ebx; mov ecx, edx; sub edi, esi: flags of add and sub keep their order
CHAIN = "89d189c8"  # mov ecx, edx; mov eax, ecx


def blocks(**codes: str) -> pa.Table:
    rows = {
        "block_id": list(codes),
        "source": ["s"] * len(codes),
        "program": ["p"] * len(codes),
        "compiler": ["c"] * len(codes),
        "section": [".text"] * len(codes),
        "address": np.zeros(len(codes), np.uint64),
        "relocatable": [False] * len(codes),
        "n_instructions": np.array([len(code) // 4 for code in codes.values()], np.int16),
        "occurrences": np.ones(len(codes), np.int32),
        "code": [bytes.fromhex(code) for code in codes.values()],
        "masked_code": [bytes.fromhex(code) for code in codes.values()],
    }
    return pa.table(rows, BLOCKS.schema)


def selected_orders(observed: dict[tuple[str, str, tuple[int, ...]], int]) -> dict[str, list[int]]:
    frame = select(blocks(free=FREE, chain=CHAIN), Observed(observed)).orders
    return {row.block_id: list(row.input_order) for row in frame.itertuples()}


def test_the_most_frequent_order_is_selected() -> None:
    assert selected_orders({("p", "free", (0, 1, 2)): 2, ("p", "free", (1, 0, 2)): 3}) == {"free": [1, 0, 2]}
    assert selected_orders({("p", "free", (0, 2, 1)): 1, ("q", "free", (0, 2, 1)): 1, ("p", "free", (0, 1, 2)): 1}) == {
        "free": [0, 2, 1]
    }


def test_the_smallest_of_equally_frequent_orders_is_selected() -> None:
    assert selected_orders({("p", "free", (1, 0, 2)): 1, ("q", "free", (0, 2, 1)): 1}) == {"free": [0, 2, 1]}


def test_an_illegal_order_is_counted_and_omitted() -> None:
    selection = select(
        blocks(free=FREE, chain=CHAIN), Observed({("p", "chain", (1, 0)): 4, ("p", "free", (2, 1, 0)): 1})
    )
    assert selection.orders.empty
    assert selection.counts["p", "pairs_illegal", "registers"] == 4
    assert selection.counts["p", "pairs_illegal", "flags"] == 1
    assert selection.counts["", "unique_illegal", ""] == 2


def test_a_legal_order_is_preferred_to_a_more_frequent_illegal_one() -> None:
    assert selected_orders({("p", "chain", (1, 0)): 4, ("p", "chain", (0, 1)): 1}) == {"chain": [0, 1]}


def test_numbers() -> None:
    observed = Observed({("p", "free", (1, 0, 2)): 2, ("p", "free", (0, 1, 2)): 1, ("q", "chain", (0, 1)): 1})
    counts = select(blocks(free=FREE, chain=CHAIN), observed).counts
    assert counts["p", "pairs_legal", ""] == 3
    assert counts["p", "pairs_moved", ""] == 2
    assert counts["p", "pairs_legal_several_moved", ""] == 2
    assert counts["q", "pairs_legal_several", ""] == 0
    assert counts["", "unique_blocks", ""] == 2
    assert counts["", "unique_several_legal", ""] == 1
    assert counts["", "unique_several_input_orders", ""] == 1
    assert counts["", "kendall_distance_total", ""] == 1
    assert counts["", "instruction_pairs_total", ""] == 4


def test_positions_of_the_instructions() -> None:
    assert input_order(["add", "load", "mul"], ["load", "mul", "add"]) == (1, 2, 0)


def test_the_kth_of_equal_instructions_is_the_kth() -> None:
    assert input_order(["a", "b", "a", "c", "a"], ["a", "a", "c", "b", "a"]) == (0, 2, 3, 1, 4)


def test_other_instructions_are_no_pair() -> None:
    assert input_order(["a", "b"], ["a", "c"]) is None
    assert input_order(["a", "a", "b"], ["a", "b", "b"]) is None
    assert input_order(["a"], ["a", "a"]) is None


@given(st.lists(st.sampled_from("abcde"), max_size=20).flatmap(lambda x: st.tuples(st.just(x), st.permutations(x))))
def test_the_permutation_restores_the_first_order(pair: tuple[list[str], list[str]]) -> None:
    after, before = pair
    order = input_order(after, before)
    assert order is not None and sorted(order) == list(range(len(after)))
    assert [after[i] for i in order] == before


def test_equal_instructions_of_a_legal_order_stay_legal() -> None:
    """mov eax,1 / store / mov eax,1 / store: the instructions of the two pairs must not be interchanged."""
    move, store = "b801000000", "8903"  # mov eax, 1; mov [rbx], eax
    after = [move, store, move, store]
    order = input_order(after, after)
    assert order == (0, 1, 2, 3)
    dag = block_dag(bytes.fromhex("".join(after)), "full")
    assert violated(order, *zip(*dag.edges, strict=True)) == Kind(0)


def test_the_kinds_of_reversed_dependencies() -> None:
    before, after, kinds = [0, 0, 1], [1, 2, 2], [int(Kind.REGISTER_RAW), int(Kind.MEMORY_WAW), int(Kind.FLAG_WAW)]
    assert violated((0, 1, 2), before, after, kinds) == Kind(0)
    assert violated((0, 2, 1), before, after, kinds) == Kind.FLAG_WAW
    assert violated((2, 0, 1), before, after, kinds) == Kind.FLAG_WAW | Kind.MEMORY_WAW
    assert violated((1, 0), [], [], []) == Kind(0)


def test_distance() -> None:
    assert kendall_tau_distance((0, 1, 2, 3)) == 0
    assert kendall_tau_distance((1, 0, 2, 3)) == 1
    assert kendall_tau_distance((3, 2, 1, 0)) == 6
