"""The order of memory against its rules, written plainly: pair by pair, from iced-x86's instructions of real blocks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iced_x86 import (
    Decoder,
    Formatter,
    FormatterSyntax,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    Register,
    RegisterExt,
    UsedMemory,
)

from learned_schedulers.blocks.dag import conflicts as columns
from learned_schedulers.blocks.dag import memory_order
from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.effects import decode_block, effects, explicit_displacement
from learned_schedulers.blocks.dag.memory_order import Mark, MemoryDags, MemoryOrder, is_barrier
from learned_schedulers.blocks.dag.resources import LANES
from learned_schedulers.blocks.run.machine_code import assemble
from tests.blocks import real
from tests.blocks.dag import naive

pytestmark = pytest.mark.slow

DAGS: dict[MemoryOrder, MemoryDags] = {
    "tso": MemoryDags("tso"), "precise": MemoryDags("precise"), "single_thread": MemoryDags("single_thread")
}  # fmt: skip
_info_factory = InstructionInfoFactory()
_formatter = Formatter(FormatterSyntax.INTEL)
_READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_FENCES = {"mfence", "lfence", "sfence", "serialize", "cpuid", "rdtsc", "rdtscp", "rdpmc", "syscall", "pause"}
_WEAK = ("movnt", "maskmovq", "maskmovdqu")  # stores, and a load, that are not ordered as `tso` is


def accesses(instruction: Instruction) -> list[UsedMemory]:
    return [used for used in _info_factory.info(instruction).used_memory() if used.access != OpAccess.NO_MEM_ACCESS]


def stops_everything(instruction: Instruction) -> bool:
    """A barrier, by its text."""
    words = _formatter.format(instruction).split(" ")
    repeated = words[0] in ("rep", "repe", "repne")
    return (
        words[0] == "lock"
        or repeated
        or words[0] in _FENCES
        or words[0].removeprefix("v").startswith(_WEAK)
        or (words[0] == "xchg" and bool(accesses(instruction)))
    )


def changes_rsp(instruction: Instruction) -> bool:
    return any(
        RegisterExt.full_register(used.register) == Register.RSP and used.access in _WRITES
        for used in _info_factory.info(instruction).used_registers()
    )


def may_be_in_the_frame(instruction: Instruction, mark: int) -> bool:
    """Whether a memory operand is addressed by rsp or rbp, or by another register that may hold the frame's address."""
    for used in accesses(instruction):
        registers = {RegisterExt.full_register(r) for r in (used.base, used.index)} - {Register.NONE, Register.RIP}
        if used.segment in (Register.FS, Register.GS):
            continue
        if registers & {Register.RSP, Register.RBP} or (registers and not mark & Mark.CLOSED):
            return True
    return False


def may_be_anywhere(instruction: Instruction, mark: int) -> bool:
    """Whether the linker fills in its displacement, or its address has no register."""
    return bool(mark & Mark.LINKED) or any(
        used.base == used.index == Register.NONE
        and used.segment not in (Register.FS, Register.GS)
        and not instruction.is_ip_rel_memory_operand
        for used in accesses(instruction)
    )


def observed(instruction: Instruction, mark: int) -> tuple[bool, bool]:
    """Whether it loads and stores memory that others may observe."""
    if mark & Mark.PRIVATE:
        return False, False
    used = accesses(instruction)
    return any(access.access in _READS for access in used), any(access.access in _WRITES for access in used)


def expected(instructions: list[Instruction], marks: bytes, memory: MemoryOrder) -> dict[tuple[int, int], Kind]:
    """Pairs that must stay in order, with their kinds; MEMORY_WAR where only the order of memory demands it."""
    block = []
    for instruction, mark in zip(instructions, marks, strict=True):
        e = effects(instruction)
        if may_be_anywhere(instruction, mark):
            e = e._replace(accesses=tuple(access._replace(size=0) for access in e.accesses))
        block.append(e)
    kinds = naive.conflicts(block, [explicit_displacement(i) for i in instructions], "full")
    for i, j in combinations(range(len(instructions)), 2):
        stays = bool((marks[i] | marks[j]) & Mark.FIXED)
        if memory == "precise":
            sides = [(instructions[k], marks[k]) for k in (i, j)]
            traps = [any(observed(*side)) or side[0].mnemonic in (Mnemonic.DIV, Mnemonic.IDIV) for side in sides]
            stores = [observed(instruction, 0)[1] for instruction, _ in sides]
            stays |= (traps[0] and (traps[1] or stores[1])) or (stores[0] and traps[1])
        if memory != "single_thread":
            a, b = instructions[i], instructions[j]
            (loads_a, stores_a), (loads_b, stores_b) = observed(a, marks[i]), observed(b, marks[j])
            stays |= stops_everything(a) or stops_everything(b)
            stays |= loads_a and loads_b
            stays |= loads_a and stores_b
            stays |= stores_a and stores_b
            stays |= changes_rsp(a) and may_be_in_the_frame(b, marks[j])
            stays |= changes_rsp(b) and may_be_in_the_frame(a, marks[i])
        if stays and (i, j) not in kinds:
            kinds[i, j] = Kind.MEMORY_WAR
    return kinds


BLOCKS = [
    row["code"] for row in real.table().select(["code", "n_instructions"]).to_pylist() if row["n_instructions"] <= 24
]
_RARE = [  # instructions that real blocks of integer programs do not have
    assemble(line).code
    for line in (
        "mfence", "lock addl $1, (%rdi)", "xchg %rax, 8(%rdi)", "xchg %rax, %rdx", "rep movsb", "movsb", "stosq",
        "rdtsc", "movnti %rax, (%rdi)", "vmovntdq %ymm1, (%rsi)", "vmovntdqa (%rsi), %xmm2", "movntdqa (%rsi), %xmm2",
        "vmaskmovdqu %xmm1, %xmm2", "vpgatherdd %xmm1, (%rdi, %xmm2, 4), %xmm3", "mov %fs:40, %rax",
        "mov %rax, %gs:(%rsi)",
        "mov 0x1234, %eax", "movabs 0x123456789, %rax", "mov (, %rax, 8), %rcx", "push 8(%rdi)", "pop (%rdi)",
        "push %rbx",
        "pop %rbx", "leave", "enter $16, $0", "pushfq", "prefetcht0 (%rdi)", "lea 8(%rsp), %rax", "mov 8(%rsp), %rax",
        "mov %rax, 16(%rsp)", "mov %rax, -8(%rbp)", "addl $1, -8(%rbp)", "sub $24, %rsp", "mov %rbp, %rsp", "xlatb",
        "cmpxchg %rcx, (%rdi)", "cmpxchg16b (%rdi)", "mov %rax, (%rdi)", "mov 8(%rdi), %rdx", "mov 8(%edi), %edx",
        "divl %ecx", "idivq 8(%rdi)", "idivl 4(%rsp)",
        "add %rax, %rcx", "movaps %xmm1, 32(%rdi)", "vmovdqu %ymm1, 0x40(%rip)", "mov 0x40(%rip), %eax",
        "btl %eax, (%rdi)",
    )
]  # fmt: skip


@st.composite
def marked_blocks(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    """Real blocks, some with rare instructions between theirs, and any marks."""
    codes, marks = [], []
    for _ in range(draw(st.integers(1, 3))):
        pieces = [
            i.ip.to_bytes(8) and code[i.ip : i.next_ip]
            for code in [draw(st.sampled_from(BLOCKS))]
            for i in decode_block(code)
        ]
        for rare in draw(st.lists(st.sampled_from(_RARE), max_size=6)):
            pieces.insert(draw(st.integers(0, len(pieces))), rare)
        codes.append(b"".join(pieces))
        plain = draw(st.booleans())
        kinds = st.sampled_from([0, Mark.CLOSED, Mark.CLOSED | Mark.PRIVATE, Mark.LINKED, Mark.FIXED])
        marks.append(bytes(draw(st.just(0) if plain else kinds) for _ in pieces))
    return codes, marks


@settings(max_examples=200, deadline=None)
@given(marked_blocks(), st.sampled_from(["tso", "precise", "single_thread"]))
def test_pairs_that_must_stay_in_order(blocks: tuple[list[bytes], list[bytes]], memory: MemoryOrder) -> None:
    codes, marks = blocks
    result = DAGS[memory].conflicts(codes, marks)
    for k, code in enumerate(codes):
        instructions = decode_block(code)
        assert result.first[k + 1] - result.first[k] == len(instructions)
        part = slice(result.conflicts.offsets[k], result.conflicts.offsets[k + 1])
        pairs = list(zip(result.conflicts.before[part].tolist(), result.conflicts.after[part].tolist(), strict=True))
        rules = expected(instructions, marks[k], memory)
        assert dict(zip(pairs, result.conflicts.kinds[part].tolist(), strict=True)) == rules
        assert pairs == sorted(pairs)
        reduction = {pair for pair, edge in zip(pairs, result.conflicts.reduced[part], strict=True) if edge}
        assert naive.closure(reduction) == naive.closure(set(pairs))
        if len(instructions) <= 12:
            assert all(pair not in naive.closure(reduction - {pair}) for pair in reduction)


@settings(max_examples=100, deadline=None)
@given(marked_blocks())
def test_tso_adds_pairs_to_those_of_one_thread(blocks: tuple[list[bytes], list[bytes]]) -> None:
    single, ordered = (
        {
            (int(block), int(before), int(after))
            for block, before, after in zip(
                np.repeat(np.arange(len(blocks[0])), np.diff(c.offsets)), c.before, c.after, strict=True
            )
        }
        for c in (DAGS[memory].conflicts(*blocks).conflicts for memory in ("single_thread", "tso"))
    )
    assert single <= ordered


def pair_stays(text: str, memory: MemoryOrder, marks: bytes = bytes(2)) -> bool:
    return len(DAGS[memory].conflicts([assemble(text).code], [marks]).conflicts.before) == 1


SLOT = int(Mark.PRIVATE | Mark.CLOSED)


@pytest.mark.parametrize(
    ("text", "marks", "stays"),
    [
        ("mov (%rdi), %rax\n mov 8(%rdi), %rcx", (0, 0), True),
        ("mov (%rdi), %rax\n mov %rcx, 8(%rdi)", (0, 0), True),
        ("mov %rax, (%rdi)\n mov %rcx, 8(%rdi)", (0, 0), True),
        ("mov %rax, (%rdi)\n mov 8(%rdi), %rcx", (0, 0), False),
        ("mov %rax, (%rdi)\n mov 7(%rdi), %rcx", (0, 0), True),
        ("mov %rax, (%rdi)\n mov 8(%rsi), %rcx", (0, 0), True),
        ("mov %rax, (%rdi)\n mov 8(%rdi), %rcx", (Mark.LINKED, 0), True),
        ("mov %rax, 0x1000\n mov 0x2000, %ecx", (0, 0), True),
        ("addq $1, (%rdi)\n mov 8(%rdi), %rcx", (0, 0), True),
        ("mov %rax, (%rdi)\n cmp %rcx, 8(%rdi)", (0, 0), False),
        ("mov 8(%rsp), %rax\n mov (%rdi), %rcx", (SLOT, Mark.CLOSED), False),
        ("mov 8(%rsp), %rax\n mov (%rdi), %rcx", (Mark.CLOSED, Mark.CLOSED), True),
        ("mov %rax, 8(%rsp)\n mov %rcx, 16(%rsp)", (SLOT, SLOT), False),
        ("mov %rax, 8(%rsp)\n mov %rcx, (%rdi)", (SLOT, Mark.CLOSED), True),  # both addresses may be equal, by the DAG
        ("mov -200(%rbp), %rax\n add $24, %rsp", (SLOT, Mark.CLOSED), True),
        ("sub $24, %rsp\n mov %rax, -16(%rbp)", (Mark.CLOSED, SLOT), True),
        ("mov (%rdi), %rax\n add $24, %rsp", (0, 0), True),
        ("mov (%rdi), %rax\n add $24, %rsp", (Mark.CLOSED, Mark.CLOSED), False),
        ("mov 8(%rip), %eax\n add $24, %rsp", (0, 0), False),
        ("mov %fs:40, %rax\n add $24, %rsp", (0, 0), False),
        ("lea 8(%rdi), %rax\n add $24, %rsp", (0, 0), False),
        ("vpgatherdd %xmm1, (%rdi, %xmm2, 4), %xmm3\n mov (%rsi), %eax", (0, 0), True),
        ("add %rax, %rcx\n mfence", (0, 0), True),
        ("add %rax, %rcx\n lock addl $1, (%rdi)", (0, 0), True),
        ("add %rax, %rcx\n add %rdx, %rsi", (Mark.FIXED, 0), True),
        ("mov %rax, %rcx\n mov %rdx, %rsi", (Mark.LINKED, SLOT), False),
    ],
)
def test_examples(text: str, marks: tuple[int, int], stays: bool) -> None:
    assert pair_stays(text, "tso", bytes(marks)) == stays


@pytest.mark.parametrize(
    "line",
    [
        *("mfence", "lfence", "sfence", "rdtsc", "rdtscp", "cpuid", "pause", "syscall", "xgetbv", "clflush (%rdi)"),
        *("lock addl $1, (%rdi)", "lock cmpxchg %rcx, (%rdi)", "xchg %rax, (%rdi)", "rep movsb", "rep stosq"),
        *(
            "repne scasb",
            "movnti %rax, (%rdi)",
            "movntq %mm1, (%rdi)",
            "movntdq %xmm1, (%rdi)",
            "movntps %xmm1, (%rdi)",
        ),
        *("movntpd %xmm1, (%rdi)", "movntdqa (%rdi), %xmm1", "maskmovdqu %xmm1, %xmm2", "maskmovq %mm1, %mm2"),
        *("vmovntdq %xmm1, (%rdi)", "vmovntdq %ymm1, (%rdi)", "vmovntdq %zmm1, (%rdi)", "vmovntps %ymm1, (%rdi)"),
        *("vmovntpd %ymm1, (%rdi)", "vmovntdqa (%rdi), %ymm1", "vmaskmovdqu %xmm1, %xmm2"),
        *("wrfsbase %rax", "rdfsbase %rax"),
    ],
)
def test_barriers(line: str) -> None:
    assert is_barrier(Decoder(64, assemble(line).code).decode())
    assert pair_stays(f"{line}\n psubb %xmm7, %xmm7", "tso") and pair_stays(f"psubb %xmm7, %xmm7\n {line}", "tso")


@pytest.mark.parametrize(
    "line",
    ["xchg %rax, %rdx", "movsb", "stosq", "mov %rax, (%rdi)", "vmovdqu %ymm1, (%rdi)", "add %rax, %rcx", "leave"],
)
def test_other_instructions_are_no_barriers(line: str) -> None:
    assert not is_barrier(Decoder(64, assemble(line).code).decode())
    assert not pair_stays(f"{line}\n psubb %xmm7, %xmm7", "tso")


def test_without_marks_what_a_linker_may_fill_in_may_be_anywhere() -> None:
    """A zero displacement of four bytes, rip-relative or not: before linking, all are."""
    for text, stays in (
        ("movl $1, 64(%rip)\n mov 256(%rip), %eax", False),
        ("movl $1, (%rip)\n mov 256(%rip), %eax", True),
        ("movl $1, (%rdi)\n mov 8(%rdi), %eax", False),
        (".byte 0xc7, 0x87, 0, 0, 0, 0, 1, 0, 0, 0\n mov 8(%rdi), %eax", True),  # movl $1, 0(%rdi): four bytes
        ("movl $1, 0x1000(%rdi)\n mov 0x2000(%rdi), %eax", False),
    ):
        code = assemble(text).code
        assert bool(len(DAGS["single_thread"].conflicts([code]).conflicts.before)) == stays, text
        marked = DAGS["single_thread"].conflicts([code], [bytes(2)]).conflicts
        assert not len(marked.before)


def test_bad_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="number of marks"):
        DAGS["tso"].conflicts([assemble("mov %rax, %rcx").code], [bytes(2)])
    with pytest.raises(ValueError, match="65 instructions"):
        DAGS["tso"].conflicts([b"\x90" * 65], [bytes(65)])
    with pytest.raises(ValueError, match="whole instructions"):
        DAGS["tso"].conflicts([b"\x48"], [bytes(1)])
    assert len(DAGS["tso"].conflicts([], []).first) == 1


def test_the_compiled_code_has_the_same_numbers() -> None:
    marks = (memory_order._LINKED, memory_order._FIXED, memory_order._PRIVATE, memory_order._CLOSED)
    assert marks == (Mark.LINKED, Mark.FIXED, Mark.PRIVATE, Mark.CLOSED)
    registers = (memory_order._NONE, memory_order._RSP, memory_order._RBP, memory_order._RIP)
    assert registers == (Register.NONE, Register.RSP, Register.RBP, Register.RIP)
    assert (memory_order._FS, memory_order._GS) == (Register.FS, Register.GS)
    fields = (memory_order._BASE, memory_order._INDEX, memory_order._SEGMENT, memory_order._DIRECTION)
    assert fields == (columns.BASE, columns.INDEX, columns.SEGMENT, columns.DIRECTION)
    assert (memory_order._READS, memory_order._WRITES) == (columns.READS, columns.WRITES)
    assert int(memory_order._RSP_LANES) == LANES[Register.RSP]
    assert memory_order._LONGEST == columns.LONGEST and memory_order._ORDER_ONLY == Kind.MEMORY_WAR
