"""The cross-check with capstone on the tiny corpus, and its rules on invented claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from iced_x86 import Decoder, FlowControl

from learned_schedulers.blocks.dag.effects import effects
from learned_schedulers.blocks.read.elf import read_image
from tests.blocks.dag.crosscheck import TABLE, UNEXPLAINED, distinct_instructions, table
from tests.blocks.dag.disagreement_rules import RULES, rule_of
from tests.blocks.dag.disagreements import compare, disagreements
from tests.blocks.dag.named import bits, decode
from tests.blocks.dag.second_decoder import Claims, UnknownToCapstone, claims

TINY = Path(__file__).parents[2] / "tiny"


@pytest.fixture(scope="module")
def instructions() -> list[bytes]:
    """The instructions of the tiny corpus without control transfers, which are never in a block."""
    functions = [
        section.code[begin - section.address : end - section.address]
        for name in ("tiny1.so", "tiny2.so")
        for section in read_image((TINY / name).read_bytes(), "GCC", "-").sections
        for begin, end in section.functions.tolist()
    ]
    distinct = distinct_instructions([functions])
    return [code for code in distinct if Decoder(64, code).decode().flow_control == FlowControl.NEXT]


def test_every_disagreement_over_the_tiny_corpus_is_explained(instructions: list[bytes]) -> None:
    assert len(instructions) > 300
    frame = table(instructions)
    assert len(frame) > 10
    assert frame[frame.rule == UNEXPLAINED].empty, frame[frame.rule == UNEXPLAINED].to_string()


def test_an_unexplained_disagreement_shows() -> None:
    instruction = decode("4801c8")  # add rax, rcx
    ours = effects(instruction)
    right = claims(bytes.fromhex("4801c8"), instruction)
    assert compare(ours, right) == []
    wrong = Claims(right.reads | bits("RDX"), right.writes & ~bits("CF"), bits("AF"), True, False, 8)
    differences = compare(ours, wrong)
    assert [(d.field, d.side, d.kind) for d in differences] == [
        ("reads", "theirs", "general"),
        ("writes", "ours", "CF"),
        ("undefined", "theirs", "AF"),
        ("loads", "theirs", "memory"),
    ]
    assert all(rule_of(instruction, d) is None for d in differences)


@pytest.mark.parametrize(
    ("code", "text", "rule"),
    [
        ("48d3e0", "shl rax, cl", "flags that may stay"),
        ("480f44c1", "cmove rax, rcx", "destination that may stay"),
        ("850424", "test [rsp], eax", "test with memory"),
        ("f20f5ac1", "cvtsd2ss xmm0, xmm1", "scalar that merges"),
        ("f20f1007", "movsd xmm0, [rdi]", "vector instruction taken for a string instruction"),
        ("31c0", "xor eax, eax", "result that does not depend on the operand"),
        ("0ffcc1", "paddb mm0, mm1", "MMX tags"),
        ("dec1", "faddp", "x87 stack as one"),
        ("c5f877", "vzeroupper", "vzeroupper"),
        ("480fb10f", "cmpxchg [rdi], rcx", "accumulator of cmpxchg"),
        ("660f2f07", "comisd xmm0, [rdi]", "size of a scalar"),
    ],
)
def test_rules(code: str, text: str, rule: str) -> None:
    instruction, differences = disagreements(bytes.fromhex(code))
    rules = [rule_of(instruction, d) for d in differences]
    assert rule in {matching.name for matching in rules if matching}
    assert None not in rules


def test_bytes_that_capstone_does_not_know() -> None:
    with pytest.raises(UnknownToCapstone):
        claims(bytes.fromhex("06"), decode("4801c8"))


def test_the_committed_table_is_explained() -> None:
    committed = pd.read_csv(TABLE)
    right = {rule.name: rule.right for rule in RULES}
    assert len(right) == len(RULES)
    assert set(zip(committed.rule, committed.right, strict=True)) <= set(right.items())
    assert set(committed.right) <= {"ours", "both"}
    for code, rule in zip(committed.example, committed.rule, strict=True):  # the table agrees with the present rules
        instruction, differences = disagreements(bytes.fromhex(code))
        assert rule in {matching.name for d in differences if (matching := rule_of(instruction, d))}, code
