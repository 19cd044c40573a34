"""Blocks up to renaming: equality of two blocks, and of two orders."""

import numpy as np
import pytest

from pipeline.imitation.canonical import Canonical, canonical
from pipeline.imitation.naming import NOTIONS, shapes
from tests.analysis.coded import (
    LOAD_RAX,
    LOAD_RAX_8,
    LOAD_RAX_16,
    LOAD_RBX,
    LOAD_RBX_8,
    LOAD_RBX_16,
    NEXT_RAX,
    NEXT_RBX,
    stored,
)


def of(notion: str, *blocks: list[str]) -> Canonical:
    store, encodings = stored(*blocks)
    return canonical(store, np.arange(len(blocks)), shapes(encodings)[notion])


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_key_does_not_know_the_order(notion: str) -> None:
    blocks = of(notion, [LOAD_RAX_8, LOAD_RBX_16, NEXT_RAX], [LOAD_RBX_16, LOAD_RAX_8, NEXT_RAX])
    assert blocks.key[0] == blocks.key[1]
    assert blocks.order[0] != blocks.order[1]
    assert sorted(blocks.colours[:3]) == sorted(blocks.colours[3:])


def test_the_exact_key_knows_names_and_constants() -> None:
    blocks = ([LOAD_RAX, NEXT_RAX], [LOAD_RBX, NEXT_RBX], [LOAD_RAX_8, NEXT_RAX])
    assert len(set(of("exact", *blocks).key)) == 3
    assert len(set(of("registers", *blocks).key)) == 2
    assert len(set(of("constants", *blocks).key)) == 1
    assert len(set(of("constants", *blocks).order)) == 1


def test_a_renaming_is_one_to_one() -> None:
    """Loads from one register are not loads from two; `mul` keeps its rax, the stack pointer its name."""
    same, different = [LOAD_RAX, "488b4508"], [LOAD_RAX, "488b5d08"]  # mov rax / rbx, [rbp+8]
    assert len(set(of("constants", same, different).key)) == 2
    read_implied, read_other = ["4889c1", "48f7e3"], ["4889f1", "48f7e3"]  # mov rcx, rax / rsi; mul rbx
    assert len(set(of("registers", read_implied, read_other).key)) == 2
    stack, frame = ["488b442408"], ["488b4708"]  # mov rax, [rsp+8] / [rdi+8]
    assert len(set(of("registers", stack, frame).key)) == 2


def test_a_value_read_by_two_is_seen_without_an_edge() -> None:
    first, second = ["488b07", "488b4f08"], ["488b07", "488b4e08"]  # mov rax, [rdi]; mov rcx, [rdi+8] / [rsi+8]
    assert len(set(of("registers", first, second).key)) == 2


def test_exchanging_what_an_automorphism_exchanges_is_the_same_order() -> None:
    twice = of("registers", [LOAD_RAX, LOAD_RBX], [LOAD_RBX, LOAD_RAX])
    assert twice.order[0] == twice.order[1]
    assert len(set(twice.colours)) == 1
    offsets = ([LOAD_RAX_8, LOAD_RBX_16], [LOAD_RBX_16, LOAD_RAX_8])
    assert len(set(of("registers", *offsets).order)) == 2
    assert len(set(of("constants", *offsets).order)) == 1


def test_chains_are_exchanged_whole() -> None:
    """Every instruction has a twin, but not every exchange is an automorphism."""
    blocks = of(
        "registers",
        [LOAD_RAX, LOAD_RBX, NEXT_RAX, NEXT_RBX],
        [LOAD_RBX, LOAD_RAX, NEXT_RBX, NEXT_RAX],
        [LOAD_RAX, LOAD_RBX, NEXT_RBX, NEXT_RAX],
    )
    assert len(set(blocks.key)) == 1
    assert blocks.order[0] == blocks.order[1] != blocks.order[2]


def test_an_order_asked_for_is_the_block_written_that_way() -> None:
    store, encodings = stored([LOAD_RAX_8, LOAD_RBX_16, NEXT_RAX], [LOAD_RBX_16, LOAD_RAX_8, NEXT_RAX])
    shape, rows = shapes(encodings)["exact"], np.array([0, 1])
    gcc = canonical(store, rows, shape)
    reordered = canonical(store, rows[:1], shape, np.array([1, 0, 2]))
    assert reordered.order[0] == gcc.order[1]
    assert reordered.key[0] == gcc.key[0]


def test_constants_are_names_that_are_shared() -> None:
    same, apart = [LOAD_RAX_8, LOAD_RBX_8], [LOAD_RAX_8, LOAD_RBX_16]
    assert len(set(of("constants", same, apart).key)) == 2
    assert len(set(of("constants", apart, [LOAD_RAX_16, LOAD_RBX_8]).key)) == 1


def test_what_was_issued_is_told_apart() -> None:
    """Two chains are equal until one of them has begun."""
    store, encodings = stored([LOAD_RAX, LOAD_RBX, NEXT_RAX, NEXT_RBX])
    shape, rows = shapes(encodings)["registers"], np.array([0])
    assert len(set(canonical(store, rows, shape).colours)) == 2
    begun = canonical(store, rows, shape, issued=np.array([1])).colours
    assert len(set(begun)) == 4
