"""Orders as permutations: equal instructions, legality, distance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.blocks.compiled.permutations import input_order, kendall_tau_distance, violated
from pipeline.blocks.dag.dependencies import Kind, block_dag


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
