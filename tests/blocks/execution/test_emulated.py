"""Two executors that share nothing but the states: the processor and unicorn agree."""

import numpy as np
import pytest

from pipeline.blocks.execution import drawing, layout
from pipeline.blocks.execution.emulated import Emulated
from pipeline.blocks.execution.executable import HOME, assemble_all
from pipeline.blocks.execution.machine_code import assemble
from pipeline.blocks.execution.native import Native
from pipeline.blocks.execution.oracle import Execution, Task
from pipeline.blocks.execution.verification import runnable, verify
from tests.blocks.execution.conftest import SETTINGS, block

BLOCKS = [
    "mov 8(%rsi), %rax\n add $3, %rax\n mov %rax, 16(%rdi)\n adc $0, %rdx",
    "push %rbx\n mov 0x100(%rip), %rcx\n lea (%rcx, %rdx, 4), %rbx\n pop %rax\n sub %rbx, %rax",
    "movsd (%rax), %xmm0\n mulsd %xmm1, %xmm0\n cvttsd2si %xmm0, %rcx\n movaps %xmm2, (%rdx)\n paddd %xmm3, %xmm2",
    "shl %cl, %rax\n rcr $3, %rbx\n bswap %edx\n sete %sil\n cmovb %r8, %r9",
    "mov $5, %ecx\n rep movsb\n movzbl (%rdi), %eax\n imul %rax, %rbx",
    "fld %st(2)\n fadd %st(1), %st\n fstpl (%rax)\n fldl 8(%rcx)",
    "mov %fs:0x28, %rax\n mov %rax, 8(%rsp)\n xor %eax, %eax",
    "movq %xmm4, %rax\n xchg %al, %ah\n mov %ax, 3(%rbx)\n mov (%rbx), %rdx",
]


def both(native: Native, text: str) -> tuple[Execution, Execution]:
    program, used = runnable(block(text))
    n = len(program.instructions)
    original = list(range(n))
    swapped = [original[:i] + [i + 1, i] + original[i + 2 :] for i in range(n - 1)]
    rng = np.random.default_rng(3)
    states = [drawing.plain(used, turn, rng) for turn in range(4)]
    states += [drawing.aliased(used, turn, rng) for turn in range(4)]
    pieces = assemble_all(program, [original, original, *swapped])
    task = Task(program.start, pieces, states, program.segments, program.undefined_flags, registers=True)
    return native.execute(task), Emulated().execute(task)


@pytest.mark.parametrize("text", BLOCKS)
def test_processor_and_emulator_agree(native: Native, text: str) -> None:
    """Registers and flags that they compute, and which orders differ."""
    program, _ = runnable(block(text))
    defined = layout.FLAGS & ~program.undefined_flags
    compared = 0
    for one, other in zip(*(found.runs for found in both(native, text)), strict=True):
        assert (one.fault is None) == (other.fault is None)
        if one.fault:
            continue
        compared += 1
        seen = [[code >= layout.DIFFERENT for code in run.codes] for run in (one, other)]
        assert seen[0] == seen[1]
        for mine, theirs in zip(one.registers[:2], other.registers[:2], strict=True):
            assert mine[:16] == theirs[:16]
            assert (mine[16] ^ theirs[16]) & defined == 0
    assert compared >= 4


def test_it_says_what_it_cannot_do() -> None:
    found = Emulated().execute(Task(HOME, [assemble("vaddps %ymm0, %ymm1, %ymm2").code], []))
    assert "VEX" in found.lost


def test_it_verifies_and_finds_faults_as_the_processor_does(native: Native) -> None:
    made = [block(text) for text in (*BLOCKS, "xor %ecx, %ecx\n xor %edx, %edx\n div %ecx\n mov %rax, %rbx")]
    for one in made:
        (mine,), _ = verify(native, one, ["full"], SETTINGS)
        (theirs,), _ = verify(Emulated(), one, ["full"], SETTINGS)
        assert mine.outcome == theirs.outcome and mine.orders_tried == theirs.orders_tried


def test_it_finds_a_missing_dependency(native: Native) -> None:
    made = block("add %rax, %rcx\n adc %rdx, %rbx\n mov %rsi, %rdi")
    (verdict,), _ = verify(Emulated(), made, ["paper"], SETTINGS)
    assert verdict.outcome == "different"


def test_a_hanging_block_ends() -> None:
    state = drawing.plain(runnable(block("nop"))[1], 0, np.random.default_rng(0))
    found = Emulated().execute(Task(HOME, [assemble("x: jmp x").code], [state], seconds=0.2))
    assert found.runs[0].fault is not None and found.runs[0].fault.reason == "time limit"
