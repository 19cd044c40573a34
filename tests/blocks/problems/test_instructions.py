"""Tokens of instructions: POCSNet's, and those of bags."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from iced_x86 import Decoder

from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.problems.instructions import NO_ADDRESS, RIP_ADDRESS, describe, encoded, tabulate
from learned_schedulers.blocks.problems.tokens import PADDING, UNKNOWN, block_tokens, token_id, vocabulary
from learned_schedulers.blocks.read.distinct import distinct_instructions


def described(code: str):  # type: ignore[no-untyped-def]
    return describe(Decoder(64, bytes.fromhex(code)).decode())


def test_every_operand_has_its_tokens() -> None:
    instruction = described("488b4cd708")  # mov rcx, [rdi+rdx*8+8]
    assert instruction.tokens == [
        "code:mov_r64_rm64", "mnemonic:mov", "op0=reg:rcx", "reg:rcx", "op1=mem:8", "base:rdi", "reg:rdi",
        "index:rdx*8", "reg:rdx", "disp:8", "disp~+4", "base:rdi+8",
    ]  # fmt: skip
    assert (instruction.displacement, instruction.access_bytes) == (8, 8)


def test_parts_of_a_register_are_the_register() -> None:
    assert "op0=reg:rax" in described("04ff").tokens  # add al, -1
    assert "op0=reg:rax" in described("6605ff00").tokens  # add ax, 255


def test_a_rip_relative_operand_says_nothing_but_that() -> None:
    near, far = described("488b0500000000"), described("488b0578563412")
    assert near == far
    assert near.address == RIP_ADDRESS
    assert near.displacement == 0


def test_addresses_are_equal_where_their_registers_are() -> None:
    first, same, different = (described(code).address for code in ("488b4f08", "48895710", "488b4e08"))
    assert first == same != different
    assert described("31c0").address == NO_ADDRESS


def test_blocks_are_taken_apart_into_distinct_instructions() -> None:
    blocks = pa.array([bytes.fromhex(code) for code in ("31c04889e5", "4889e531c031c0", "90")], pa.binary())
    encodings, numbers = distinct_instructions(blocks[:2])
    assert encodings == sorted(encodings) == [bytes.fromhex("31c0"), bytes.fromhex("4889e5")]
    assert numbers.to_pylist() == [[0, 1], [1, 0, 0]]
    assert distinct_instructions(blocks[2:])[1].to_pylist() == [[0]]  # a slice


def test_bytes_that_are_no_whole_instruction_are_refused() -> None:
    with pytest.raises(ValueError, match="not made of whole instructions: 488b; cut the blocks anew"):
        distinct_instructions(pa.array([bytes.fromhex("488b")], pa.binary()))


def test_a_vocabulary_leaves_out_what_is_rare() -> None:
    encodings = encoded(tabulate([bytes.fromhex("31c0"), bytes.fromhex("4889e5")]))
    often, rarely = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1])
    for instructions, expected in ((often, "xor"), (rarely, "mov")):
        vocabulary = Vocabulary.of(encodings, instructions, 2)
        bags = vocabulary.bags(encodings)
        row = ["xor", "mov"].index(expected)
        tokens = [vocabulary.tokens[k] for k in bags.tokens[bags.bounds[row] : bags.bounds[row + 1]]]
        assert f"mnemonic:{expected}" in tokens
        assert sum(token.startswith("mnemonic:") for token in vocabulary.tokens) == 1


def test_counts_weigh_every_occurrence() -> None:
    encodings = encoded(tabulate([bytes.fromhex("31c0"), bytes.fromhex("4889e5")]))
    counts = dict(zip(encodings.tokens, encodings.counts(np.array([[0, 1], [1, 1]])), strict=True))
    assert counts["mnemonic:mov"] == 3
    assert counts["reg:rax"] == 2  # both operands of xor


def tokens(code: str) -> list[tuple[str, ...]]:
    return block_tokens(bytes.fromhex(code))


def test_registers_memory_and_constants() -> None:
    assert tokens("48 8b 44 8b 10") == [("mov_r64_rm64", "rax", "base:rbx", "index:rcx*4", "disp:16")]
    assert tokens("48 83 ec 18") == [("sub_rm64_imm8", "rsp", "imm:24")]
    assert tokens("48 83 c4 f8") == [("add_rm64_imm8", "rsp", "imm:-8")]


def test_an_instruction_pointer_displacement_is_no_token() -> None:
    assert tokens("48 8b 05 00 00 00 00") == tokens("48 8b 05 11 22 33 00") == [("mov_r64_rm64", "rax", "mem:rip")]


def test_vocabulary_counts_and_falls_back_by_kind() -> None:
    words = vocabulary(["rax"] * 3 + ["disp:8"] * 2 + ["disp:16", "imm:7", "rare"], 2)
    ids = {token: number for token, (number, _) in words.items()}
    assert list(ids) == [PADDING, UNKNOWN, "disp:<other>", "imm:<other>", "rax", "disp:8"]
    assert token_id("disp:16", ids) == token_id("disp:99", ids) == ids["disp:<other>"]
    assert token_id("rare", ids) == token_id("new", ids) == ids[UNKNOWN]
    assert token_id("index:rax*8", ids) == ids[UNKNOWN]  # a kind never seen in training
