"""Wrong blocks: an example of each category, the sample, and blocks in which GCC has the predicted order."""

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.problems.instructions import encoded, tabulate
from learned_schedulers.blocks.read.assembly import intel
from pipeline.imitation.disagreement import CATEGORIES
from pipeline.imitation.errors import also_gcc, errors, shares, wrong
from pipeline.imitation.naming import shapes
from pipeline.imitation.tables import ERROR_SHARES, ERRORS
from tests.analysis.coded import LOAD_RAX, LOAD_RAX_8, LOAD_RBX, LOAD_RBX_16, NEXT_RAX, NEXT_RBX, stored


def drawn(*orders: list[int]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "block_id": [f"{number:032x}" for number in range(len(orders))],
            "decoder": "greedy",
            "order": [np.array(order, np.int16) for order in orders],
            "status": "ok",
            "message": "",
        }
    )


def errors_of(blocks: list[list[str]], orders: list[list[int]]) -> pd.DataFrame:
    store, encodings = stored(*blocks)
    table = drawn(*orders)
    code = pd.Series([bytes.fromhex("".join(block)) for block in blocks], table["block_id"])
    compared = encoded(tabulate(encodings)).compared
    return errors(table, code, store, compared, shapes(encodings), pd.Series([0.25], table["block_id"][:1]))


MOV_RDI_RBX, MOV_RSI_RBP = "4889df", "4889ee"
STORE = "48895808"  # mov [rax+8], rbx
EXAMPLES = {
    "symmetric": ([LOAD_RAX, LOAD_RBX], [1, 0], ""),
    "memory_order": ([LOAD_RAX_8, LOAD_RBX_16], [1, 0], "GCC ascending"),
    "argument_moves": ([MOV_RDI_RBX, "31f6"], [1, 0], ""),  # mov rdi, rbx; xor esi, esi
    "constant_setup": (["bb07000000", "488d2d00000000"], [1, 0], ""),  # mov ebx, 7; lea rbp, [rip]
    "register_copies": (["4d8bd8", "4889cd"], [1, 0], ""),  # mov r11, r8; mov rbp, rcx
    "load_order": (["4c8b36", "4c8b7908"], [1, 0], ""),  # mov r14, [rsi]; mov r15, [rcx+8]
    "address_update": (
        ["4883c708", "4d8bc8", LOAD_RAX],
        [1, 0, 2],
        "GCC first",
    ),  # add rdi, 8; mov r9, r8; mov rax, [rdi]
    "store_placement": ([STORE, MOV_RSI_RBP], [1, 0], "GCC stores first"),
    "cross_block": (["4d8bd8", "4c8b36"], [1, 0], ""),  # mov r11, r8; mov r14, [rsi]
    "latency": (["4d8bd8", LOAD_RAX, NEXT_RAX], [1, 0, 2], "GCC lower"),
    # lea r8, [rbx+rbx] and lea r10, [r11+r9*2], both free; mov r9, [rsi] ends what r9 was before
    "register_pressure": (["4c8d045b", "4f8d144b", "4c8b0e"], [1, 0, 2], "GCC more"),
}


@pytest.mark.parametrize("category", EXAMPLES)
def test_examples_are_in_their_category(category: str) -> None:
    block, order, detail = EXAMPLES[category]
    result = errors_of([block], [order]).iloc[0]
    assert (result.category, result.detail) == (category, detail)
    assert result.slot == 0
    assert result.gcc_order == "; ".join(intel(bytes.fromhex("".join(block))))
    assert result.predicted_order.split("; ")[0] == result.predicted_instruction
    assert result.confidence == 0.25


def test_what_was_issued_breaks_the_symmetry() -> None:
    """After mov rax the next steps of the two chains differ."""
    chains = [LOAD_RAX, LOAD_RBX, NEXT_RAX, NEXT_RBX]
    result = errors_of([chains, chains], [[0, 1, 3, 2], [1, 0, 2, 3]])
    assert "symmetric" not in list(result.holds[0])
    assert result.category[1] == "symmetric"


def test_every_case_has_a_category() -> None:
    assert list(CATEGORIES)[-1] == "other"
    result = errors_of([[LOAD_RAX, LOAD_RBX]], [[1, 0]])
    assert set(result.holds[0]) >= {"symmetric", "cross_block", "other"}


def test_gcc_itself_may_have_the_predicted_order() -> None:
    store, encodings = stored(
        [LOAD_RAX_8, LOAD_RBX_16, NEXT_RAX],
        [LOAD_RBX_16, LOAD_RAX_8, NEXT_RAX],  # the first, the other way round
        [LOAD_RAX, "4889ee"],  # mov rsi, rbp
        ["4889ea", LOAD_RAX],  # mov rdx, rbp: the same the other way round, but for a name
        [LOAD_RAX, LOAD_RBX],
        [LOAD_RAX, NEXT_RBX],
    )
    orders = [np.array(order) for order in ([1, 0, 2], [1, 0], [1, 0], [1, 0])]
    result = also_gcc(store, np.array([0, 2, 4, 5]), orders, shapes(encodings))
    assert result == ["exact", "registers", "itself, registers", "nowhere"]


def test_only_wrong_legal_blocks_are_drawn() -> None:
    table = drawn([0, 1], [1, 0], [1, 0], [1, 0])
    table.loc[3, "status"] = "violates"
    assert wrong(table, 10, 0).block_id.tolist() == table.block_id[1:3].tolist()
    assert len(wrong(table, 1, 0)) == 1
    assert wrong(table, 1, 5).equals(wrong(table, 1, 5))


def test_shares_add_up() -> None:
    table = errors_of([[LOAD_RAX, LOAD_RBX], [LOAD_RAX_8, LOAD_RBX_16]], [[1, 0], [1, 0]])
    assert list(table.columns) == ERRORS.schema.names
    result = shares(table, 0.95)
    assert list(result.columns) == ERROR_SHARES.schema.names
    for by in ("category", "also_gcc"):
        assert result[result.by == by].share.sum() == pytest.approx(1)
    symmetric = result[result.name == "symmetric"].iloc[0]
    assert symmetric.n_blocks == symmetric.n_holds == 1
    assert symmetric.low < 0.5 < symmetric.high
    assert result[result.name == "cross_block"].iloc[0].n_holds == 2
