"""The native executor: its results, and the isolation of blocks in child processes."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from learned_schedulers.blocks.run import drawing, layout, states
from learned_schedulers.blocks.run.executable import HOME
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Execution, Task
from learned_schedulers.blocks.run.roles import Roles
from learned_schedulers.blocks.run.states import FS_BASE, State

ALL_POINTERS = Roles(set(range(16)), set(), set(), False, [], False, False)  # every register may hold an address


def state(seed: int = 0) -> State:
    return drawing.plain(ALL_POINTERS, 0, np.random.default_rng(seed))


def execute(native: Native, *texts: str, seconds: float = 10.0, segments: bool = False) -> Execution:
    pieces = [assemble(f"start: {text}").code for text in texts]
    start_states = [state(seed) for seed in range(3)]
    return native.execute(Task(HOME, pieces, start_states, segments, registers=True, seconds=seconds))


def reason(execution: Execution) -> str:
    assert execution.lost or all(run.fault is not None for run in execution.runs)
    return execution.lost or next(run.fault.reason for run in execution.runs if run.fault)


def test_the_code_is_executed(native: Native) -> None:
    execution = execute(native, "mov (%rax), %rcx\n lea 5(%rdx, %rbx, 2), %rsi\n mov %r8, 8(%rdi)\n mov 8(%rdi), %r9")
    for seed, run in enumerate(execution.runs):
        before, after = state(seed).registers, run.registers[0]
        loaded = states.content(np.array([before[0]], np.uint64), state(seed).seed, state(seed).masks)[0]
        assert after[1] == loaded
        assert after[6] == (before[2] + 2 * before[3] + 5) % 2**64
        assert after[9] == before[8]
        unchanged = [0, 2, 3, 4, 5, 7, 8, *range(10, 16)]
        assert [after[i] for i in unchanged] == [before[i] for i in unchanged]


def test_every_page_is_filled_by_content(native: Native) -> None:
    """Words in two pages, compared with the same function in NumPy."""
    offsets = [*range(0, 64, 8), 4088, 4096, 4104, 8184]
    for masks in (states.POINTERS + states.FLOATS, states.RANDOM + states.SMALL):
        start = State(**{**vars(state()), "masks": masks})
        for offset in offsets:
            piece = assemble(f"mov {offset}(%rax), %rcx").code
            run = native.execute(Task(HOME, [piece], [start], registers=True)).runs[0]
            address = start.registers[0] + offset
            assert run.registers[0][1] == states.content(np.array([address], np.uint64), start.seed, masks)[0]


@pytest.mark.parametrize(
    "change",
    [
        "inc %r11",  # a register
        "movb $1, %spl",
        "stc\n sbb %al, %al\n clc",
        "movq %rax, %xmm9",
        "vpxor %ymm3, %ymm3, %ymm3",
        "fincstp",
        "movq %rax, %mm2",
        "movb $77, 4095(%rax)",  # the last byte of a page
        "movb $77, 0x100000(%rax)",  # another page
        "push %rax\n pop %rax",  # below the stack pointer
        "std",
    ],
)
def test_every_part_of_the_state_is_compared(native: Native, change: str) -> None:
    nothing = "nop"
    execution = execute(native, nothing, change, nothing)
    for run in execution.runs:
        assert run.codes[0] >= layout.DIFFERENT
        assert run.codes[1] == layout.EQUAL, "a difference leaks into the next run"


def test_the_vector_control_word_is_compared(native: Native) -> None:
    rounding = "movl ${}, -8(%rsp)\n ldmxcsr -8(%rsp)\n movl $0, -8(%rsp)"
    execution = execute(native, *(rounding.format(mode) for mode in ("0x1f80", "0x5f80", "0x1f80")))
    assert [run.codes for run in execution.runs] == [(layout.DIFFERENT, layout.EQUAL)] * 3


def test_undefined_flags_are_reported_separately(native: Native) -> None:
    pieces = [assemble(text).code for text in ("clc", "stc")]
    for undefined, code in ((0, layout.DIFFERENT), (1, layout.UNDEFINED_FLAGS)):
        execution = native.execute(Task(HOME, pieces, [state()], undefined=undefined))
        assert execution.runs[0].codes == (code,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jmp start", "time limit"),
        ("mov $-1, %rcx\n rep movsb", "too many pages"),
        ("xor %ecx, %ecx\n xor %edx, %edx\n div %ecx", "division fault"),
        ("ud2", "processor does not know"),
        ("hlt", "general protection"),
        ("mov $1, %eax\n shl $62, %rax\n mov (%rax), %rax", "general protection"),
        ("movaps 1(%rax), %xmm0", "general protection"),
        ("mov %eax, (%rip)", "may not write"),
        ("mov %eax, 8", "no page"),
        ("int3", "SIGTRAP"),
        ("mov $39, %eax\n syscall", "SIGSYS"),
        ("mov $57, %eax\n syscall", "SIGSYS"),  # fork
    ],
)
def test_a_block_that_does_not_end_is_reported_and_the_next_one_runs(native: Native, text: str, expected: str) -> None:
    assert expected in reason(execute(native, text, seconds=0.5))
    after = execute(native, "mov $7, %eax")
    assert [run.registers[0][0] for run in after.runs] == [7] * 3


def test_a_fault_names_its_instruction(native: Native) -> None:
    execution = execute(native, "nop\n nop\n ud2\n nop")
    assert [run.fault.offset for run in execution.runs if run.fault] == [2] * 3


def test_a_fault_of_a_reordered_piece_is_detected(native: Native) -> None:
    execution = execute(native, "mov %rax, %rcx\n mov (%rcx), %rcx", "mov $1, %ecx\n mov (%rcx), %rcx")
    assert [run.codes for run in execution.runs] == [(layout.FAULTED,)] * 3


def test_the_block_has_separate_thread_storage(native: Native) -> None:
    execution = execute(native, "movl $1, %fs:0\n mov %fs:0x28, %rcx\n movl $1, %gs:0", "nop", segments=True)
    for seed, run in enumerate(execution.runs):
        assert run.codes == (layout.DIFFERENT,)
        expected = states.content(np.array([FS_BASE + 0x28], np.uint64), state(seed).seed, state(seed).masks)[0]
        assert run.registers[0][1] == expected


def test_the_child_holds_one_pipe_and_nothing_else(native: Native, tmp_path: Path) -> None:
    """The child does not even have an inheritable file; the test starts a new worker, which could inherit it."""
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        with Native() as executor:
            open_files: list[list[str]] = []
            hanging = threading.Thread(target=lambda: execute(executor, "jmp start", seconds=1.5))
            hanging.start()
            time.sleep(0.7)
            (child,) = psutil.Process(executor._process.pid).children()
            links = Path(f"/proc/{child.pid}/fd")
            open_files.append([os.readlink(link) for link in links.iterdir()])
            hanging.join()
    assert len(open_files[0]) == 1 and open_files[0][0].startswith("pipe:")


def test_a_worker_that_dies_is_replaced() -> None:
    try:
        executor = Native()
    except RuntimeError as error:
        pytest.skip(str(error))
    with executor:
        executor._process.kill()
        assert execute(executor, "nop").lost == "the worker died"
        assert not execute(executor, "nop").lost


def test_code_that_points_into_a_low_python_is_not_run(native: Native) -> None:
    occupied, native._occupied = native._occupied, [[0x500000, 0x600000]]
    try:
        task = Task(HOME, [assemble("nop").code], [state()], constants=frozenset([0x512345]))
        assert "occupies" in native.execute(task).lost
    finally:
        native._occupied = occupied
