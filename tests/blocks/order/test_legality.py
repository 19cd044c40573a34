"""Orders that are recovered from bytes, and the judgement of them, against the dependencies themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.effects import decode_block
from learned_schedulers.blocks.dag.memory_order import Mark, MemoryDags, MemoryOrder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.dag.topology import adjacency
from learned_schedulers.blocks.order.legality import Difference, Judgement, Legality, compare
from learned_schedulers.blocks.read.document import CodeBlock, Fault
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.reorder import reordered
from learned_schedulers.blocks.run.machine_code import assemble
from tests.blocks import real

MODELS: tuple[MemoryOrder, ...] = ("tso", "single_thread")
LEGALITY = {memory: Legality(memory) for memory in MODELS}
DAGS = {memory: MemoryDags(memory) for memory in MODELS}
FORMS = Forms()


def block(text: str, marks: bytes | None = None) -> CodeBlock:
    code = assemble(text).code
    return CodeBlock("lines 1-2", code, bytes(len(decode_block(code))) if marks is None else marks)


def permuted(code: bytes, order: Sequence[int]) -> bytes:
    """The code in another order, with the same targets."""
    content, begin = np.frombuffer(code, np.uint8), np.zeros(1, np.int64)
    decoded = FORMS.decode(content, begin, np.array([len(code)]))
    moved, fits = reordered(content, begin, decoded, FORMS.facts, np.array(order))
    assert fits.all()
    return moved.tobytes()


def pieces(code: bytes) -> list[bytes]:
    return [code[i.ip : i.next_ip] for i in decode_block(code)]


def judge(before: CodeBlock, after: bytes, memory: MemoryOrder = "tso") -> Judgement:
    return LEGALITY[memory].judge([before], [after])[0]


def swapped(text: str, memory: MemoryOrder = "tso", marks: bytes = bytes(2)) -> Judgement:
    """The judgement of two instructions that change places."""
    first = block(text, marks)
    return judge(first, permuted(first.code, (1, 0)), memory)


def conflicts(of: CodeBlock, memory: MemoryOrder) -> list[tuple[int, int]]:
    result = DAGS[memory].conflicts([of.code], [of.marks]).conflicts
    return list(zip(result.before.tolist(), result.after.tolist(), strict=True))


def drawn(of: CodeBlock, memory: MemoryOrder, seed: int) -> list[int]:
    """A random legal order."""
    pairs, n = np.array(conflicts(of, memory), int).reshape(-1, 2), len(of.marks)
    order = random_ready(adjacency(n, [pairs[:, 0]], [pairs[:, 1]]), np.random.default_rng(seed))[0]
    return [int(i) for i in order]


@cache
def real_codes() -> list[bytes]:
    codes: list[bytes] = real.table()["code"].to_pylist()
    return codes


KINDS = st.sampled_from([0, 0, int(Mark.CLOSED), int(Mark.CLOSED | Mark.PRIVATE), int(Mark.FIXED)])


@st.composite
def marked(draw: st.DrawFn) -> CodeBlock:
    code = real_codes()[draw(st.integers(0, len(real_codes()) - 1))]
    n = len(decode_block(code))
    return CodeBlock(
        "", code, bytes(draw(st.lists(KINDS, min_size=n, max_size=n))) if draw(st.booleans()) else bytes(n)
    )


@settings(max_examples=150, deadline=None)
@given(marked(), st.sampled_from(MODELS), st.integers(0, 2**32))
def test_a_legal_order_is_recovered_and_legal(before: CodeBlock, memory: MemoryOrder, seed: int) -> None:
    order = drawn(before, memory, seed)
    after = permuted(before.code, order)
    judgement = judge(before, after, memory)
    assert judgement.is_legal and judgement.order is not None and not judgement.reason
    assert permuted(before.code, judgement.order) == after
    if len(set(pieces(before.code))) == len(order):
        assert list(judgement.order) == order


@settings(max_examples=150, deadline=None)
@given(marked(), st.sampled_from(MODELS), st.randoms(use_true_random=False))
def test_the_violations_are_the_reversed_conflicts(before: CodeBlock, memory: MemoryOrder, random: object) -> None:
    order = list(range(len(before.marks)))
    random.shuffle(order)  # type: ignore[attr-defined]
    judgement = judge(before, permuted(before.code, order), memory)
    assert judgement.order is not None
    slot = {i: t for t, i in enumerate(judgement.order)}
    expected = {(i, j) for i, j in conflicts(before, memory) if slot[i] > slot[j]}
    assert {(v.before, v.after) for v in judgement.violations} == expected
    assert all(v.reason for v in judgement.violations), "every pair has a reason"
    assert judgement.is_legal == (not expected)


SLOT = int(Mark.PRIVATE | Mark.CLOSED)


@pytest.mark.parametrize(
    ("text", "marks", "reason"),
    [
        ("mov %rbx, %rax\n mov %rax, %rcx", (0, 0), "RAW through rax"),
        ("mov %rbx, %rax\n mov %rcx, %rbx", (0, 0), "WAR through rbx"),
        ("mov %rbx, %rax\n mov %rcx, %rax", (0, 0), "WAW through rax"),
        ("cmp %rax, %rbx\n adc %rcx, %rdx", (0, 0), "RAW through CF; WAW through OF, SF, ZF, AF, CF, PF"),
        ("sete %al\n cmp %rcx, %rdx", (0, 0), "WAR through ZF"),
        ("mov %ah, %cl\n mov %r8b, %al", (0, 0), ""),
        ("movaps %xmm1, %xmm2\n addps %xmm2, %xmm3", (0, 0), "RAW through xmm2"),
        ("vmovaps %ymm1, %ymm2\n vzeroupper", (0, 0), "WAR through xmm1; WAW through xmm2"),
        ("fld1\n fldz", (0, 0), "RAW through the x87 stack; WAR through the x87 stack; WAW through the x87 stack"),
        ("mov %rax, (%rdi)\n mov (%rsi), %rcx", (0, 0), "store and load may overlap"),
        ("mov (%rsi), %rcx\n mov %rax, (%rdi)", (0, 0), "load and store may overlap"),
        ("mov %rcx, (%rsi)\n mov %rax, (%rdi)", (0, 0), "two stores may overlap"),
        ("mov (%rdi), %rax\n mov 8(%rdi), %rcx", (0, 0), "tso: a load may not pass a load"),
        ("mov (%rdi), %rax\n mov %rcx, 8(%rdi)", (0, 0), "tso: a store may not pass a load"),
        ("mov %rax, (%rdi)\n mov %rcx, 8(%rdi)", (0, 0), "tso: a store may not pass a store"),
        ("mov %rax, (%rdi)\n mov 8(%rdi), %rcx", (0, 0), ""),
        ("mov %rax, 8(%rsp)\n mov %rcx, 16(%rsp)", (SLOT, SLOT), ""),
        ("mov -16(%rbp), %rax\n add $24, %rsp", (SLOT, SLOT), "a frame access may not cross a change of rsp"),
        ("mov %rax, %rcx\n lock cmpxchg %rdx, (%rdi)", (0, 0), "barrier: lock cmpxchg"),
        ("mfence\n mov %rax, %rcx", (0, 0), "barrier: mfence"),
        ("mov %rax, %rcx\n mov %rdx, %rsi", (Mark.FIXED, 0), "nothing may cross mov rcx,rax"),
    ],
)
def test_reasons(text: str, marks: tuple[int, int], reason: str) -> None:
    judgement = swapped(text, marks=bytes(marks))
    assert judgement.order == (1, 0)
    assert [(v.before, v.after, v.reason) for v in judgement.violations] == ([(0, 1, reason)] if reason else [])


def test_one_thread_allows_more() -> None:
    text = "mov (%rdi), %rax\n mov 8(%rdi), %rcx"
    assert swapped(text, "single_thread").is_legal and not swapped(text, "tso").is_legal
    fenced = swapped("mov (%rdi), %rax\n mfence", "single_thread")
    assert [v.reason for v in fenced.violations] == ["barrier: mfence"]


def test_targets_count_and_not_distances() -> None:
    before = block("mov 0x100(%rip), %eax\n add %rcx, %rdx\n lea 0x200(%rip), %rsi")
    order = (1, 2, 0)
    assert judge(before, permuted(before.code, order)) == Judgement(order)
    same_distances = b"".join(pieces(before.code)[i] for i in order)
    assert judge(before, same_distances).order is None
    linked = before._replace(marks=bytes([Mark.LINKED, 0, Mark.LINKED]))
    assert judge(linked, same_distances) == Judgement(order)


def test_other_instructions_are_named() -> None:
    before = block("add %rcx, %rdx\n add %rcx, %rdx\n mov $5, %eax")
    for text, reason in (
        ("add %rcx, %rdx\n add %rcx, %rdx\n mov $6, %eax", "mov eax,5 is gone"),
        ("add %rcx, %rdx\n mov $5, %eax", "add rdx,rcx is gone"),
        ("add %rcx, %rdx\n add %rcx, %rdx\n mov $5, %eax\n cltq", "cdqe is new"),
    ):
        judgement = judge(before, block(text).code)
        assert judgement.order is None and not judgement.is_legal and judgement.reason.startswith(reason)


def test_identical_instructions_are_matched_in_sequence() -> None:
    before = block("test %eax, %eax\n mov %rcx, %rdx\n test %eax, %eax\n cmp %esi, %edi")
    assert judge(before, permuted(before.code, (2, 0, 1, 3))).order == (0, 2, 1, 3)


def test_a_long_block_is_judged_in_parts() -> None:
    lines = [f"mov ${k}, %r{8 + k % 8}d" for k in range(130)]  # each conflicts with the eighth after it
    before = block("\n".join(lines))
    order = list(range(130))
    order[3], order[4] = order[4], order[3]
    order[66], order[74] = order[74], order[66]
    judgement = judge(before, permuted(before.code, order))
    assert {(v.before, v.after) for v in judgement.violations} == {(66, 74)}
    order = list(range(130))
    order[63], order[64] = order[64], order[63]
    (violation, *_) = judge(before, permuted(before.code, order)).violations
    assert (violation.before, violation.after) == (63, 64) and "more than 64" in violation.reason


def test_bad_blocks_are_refused() -> None:
    good = block("add %rcx, %rdx\n mov $5, %eax")
    with pytest.raises(ValueError, match="whole instructions"):
        judge(good, good.code[:-1])
    with pytest.raises(ValueError, match="2 instructions and 3 marks"):
        judge(good._replace(marks=bytes(3)), good.code)
    assert LEGALITY["tso"].judge([], []) == []


class Lines:
    """A document: lines `hexadecimal # comment`; the comment of a line stays, as does a line without code."""

    def __init__(self, content: bytes) -> None:
        self.lines = content.decode().splitlines()
        self.at = [k for k, line in enumerate(self.lines) if not line.startswith("#")]
        self.blocks = [self.block(k) for k in self.at]
        self.faults: list[Fault] = []

    def block(self, k: int) -> CodeBlock:
        code = bytes.fromhex(self.lines[k].split(" ")[0])
        return CodeBlock(f"line {k + 1}", code, bytes(len(decode_block(code))))

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        lines = list(self.lines)
        for index, order in orders.items():
            _, *rest = lines[self.at[index]].split(" ")
            lines[self.at[index]] = " ".join([permuted(self.blocks[index].code, order).hex(), *rest])
        return "".join(f"{line}\n" for line in lines).encode()


def hexadecimal(text: str) -> str:
    return assemble(text).code.hex()


MOVES = hexadecimal("mov %rax, %rcx\n mov %rdx, %rsi")
MOVES_SWAPPED = hexadecimal("mov %rdx, %rsi\n mov %rax, %rcx")
LOADS = hexadecimal("mov (%rdi), %rax\n mov 8(%rdi), %rcx")
LOADS_SWAPPED = hexadecimal("mov 8(%rdi), %rcx\n mov (%rdi), %rax")
OTHER = hexadecimal("mov %rax, %rbx\n mov %rdx, %rsi")


def differences(before: str, after: str, memory: MemoryOrder = "tso") -> list[Difference]:
    return list(compare(Lines(before.encode()), Lines(after.encode()), memory))


def kinds(before: str, after: str, memory: MemoryOrder = "tso") -> list[tuple[str, str]]:
    return [(d.place, d.kind) for d in differences(before, after, memory)]


def test_files_that_differ_by_legal_orders_only() -> None:
    before = f"# a\n{MOVES} # first\n{LOADS} # second\n"
    assert kinds(before, before) == []
    legal = before.replace(MOVES, MOVES_SWAPPED)
    assert differences(before, legal) == [Difference("line 2", "legal", (1, 0))]
    both = legal.replace(LOADS, LOADS_SWAPPED)
    assert kinds(before, both) == [("line 2", "legal"), ("line 3", "illegal")]
    assert kinds(before, both, "single_thread") == [("line 2", "legal"), ("line 3", "legal")]
    assert differences(before, both)[1].violations[0].reason == "tso: a load may not pass a load"


def test_everything_outside_of_blocks_has_to_be_equal() -> None:
    before = f"# a\n{MOVES} # first\n# b\n"
    legal = before.replace(MOVES, MOVES_SWAPPED)
    assert kinds(before, legal.replace("# b", "# c")) == [("line 2", "legal"), ("line 3", "outside")]
    assert kinds(before, legal.replace("first", "last")) == [("line 2", "legal"), ("line 2", "outside")]
    assert kinds(before, before + "#\n") == [("line 4", "outside")]
    changed = differences(before, before.replace(MOVES, OTHER))
    assert [d.kind for d in changed] == ["changed", "outside"]
    assert "mov rcx,rax is gone" in changed[0].reason and "not compared" in changed[1].reason


def test_files_with_more_blocks_are_compared_by_place() -> None:
    before = f"{MOVES} # first\n# b\n{LOADS} # second\n"
    after = f"{MOVES_SWAPPED} # first\n# b\n{LOADS} # second\n{OTHER} #\n"
    assert kinds(before, after) == [("line 4", "changed"), ("line 1", "legal"), ("line 4", "outside")]


def test_bytes_that_are_no_instructions_are_a_change() -> None:
    before = Lines(f"{MOVES} # first\n{LOADS} # second\n".encode())
    after = Lines(f"{MOVES_SWAPPED} # first\n{LOADS} # second\n".encode())
    after.lines[1] = f"{LOADS[:-2]} # second"
    after.blocks[1] = after.blocks[1]._replace(code=bytes.fromhex(LOADS[:-2]))
    result = list(compare(before, after, "tso"))
    assert [(d.place, d.kind) for d in result[:2]] == [("line 1", "legal"), ("line 2", "changed")]
    assert "whole instructions" in result[1].reason
