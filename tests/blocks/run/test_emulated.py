"""Two executors that share only the states: the processor and unicorn agree."""

import numpy as np
import pytest

from learned_schedulers.blocks.run import drawing, layout
from learned_schedulers.blocks.run.emulated import Emulated
from learned_schedulers.blocks.run.executable import HOME, assemble_all
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Execution, Task
from learned_schedulers.blocks.run.verification import runnable, verify
from tests.blocks.run.conftest import SETTINGS, block

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


def native_and_emulated(native: Native, text: str) -> tuple[Execution, Execution]:
    program, block_roles = runnable(block(text))
    n = len(program.instructions)
    original = list(range(n))
    swapped = [original[:i] + [i + 1, i] + original[i + 2 :] for i in range(n - 1)]
    rng = np.random.default_rng(3)
    states = [drawing.plain(block_roles, turn, rng) for turn in range(4)]
    states += [drawing.aliased(block_roles, turn, rng) for turn in range(4)]
    pieces = assemble_all(program, [original, original, *swapped])
    task = Task(program.start, pieces, states, program.segments, program.undefined_flags, registers=True)
    return native.execute(task), Emulated().execute(task)


@pytest.mark.parametrize("text", BLOCKS)
def test_processor_and_emulator_agree(native: Native, text: str) -> None:
    """They compute the same registers and flags, and the same orders differ."""
    program, _ = runnable(block(text))
    defined = layout.FLAGS & ~program.undefined_flags
    n_compared = 0
    for native_run, emulated_run in zip(
        *(execution.runs for execution in native_and_emulated(native, text)), strict=True
    ):
        assert (native_run.fault is None) == (emulated_run.fault is None)
        if native_run.fault:
            continue
        n_compared += 1
        differences = [[code >= layout.DIFFERENT for code in run.codes] for run in (native_run, emulated_run)]
        assert differences[0] == differences[1]
        for native_registers, emulated_registers in zip(
            native_run.registers[:2], emulated_run.registers[:2], strict=True
        ):
            assert native_registers[:16] == emulated_registers[:16]
            assert (native_registers[16] ^ emulated_registers[16]) & defined == 0
    assert n_compared >= 4


def test_unsupported_code_is_reported() -> None:
    execution = Emulated().execute(Task(HOME, [assemble("vaddps %ymm0, %ymm1, %ymm2").code], []))
    assert "VEX" in execution.lost


def test_it_verifies_and_finds_faults_as_the_processor_does(native: Native) -> None:
    blocks = [block(text) for text in (*BLOCKS, "xor %ecx, %ecx\n xor %edx, %edx\n div %ecx\n mov %rax, %rbx")]
    for example in blocks:
        (native_verdict,), _ = verify(native, example, ["full"], SETTINGS)
        (emulated_verdict,), _ = verify(Emulated(), example, ["full"], SETTINGS)
        assert (
            native_verdict.outcome == emulated_verdict.outcome
            and native_verdict.orders_tried == emulated_verdict.orders_tried
        )


def test_a_hanging_block_ends() -> None:
    state = drawing.plain(runnable(block("nop"))[1], 0, np.random.default_rng(0))
    execution = Emulated().execute(Task(HOME, [assemble("x: jmp x").code], [state], seconds=0.2))
    assert execution.runs[0].fault is not None and execution.runs[0].fault.reason == "time limit"
