"""Tokens of known instructions, the vocabulary's catch-alls, no leaks."""

from __future__ import annotations

from pipeline.blocks.problems.tokens import PADDING, UNKNOWN, block_tokens, token_id, vocabulary


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
