"""Code that times itself: its encoding, its measurements, and the reports of blocks that cannot be timed."""

from __future__ import annotations

import numpy as np
import pytest
from iced_x86 import Decoder, Mnemonic

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.executable import HOME, prepare
from learned_schedulers.blocks.run.legal_orders import Order
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import TimedTask
from learned_schedulers.blocks.run.roles import roles
from learned_schedulers.blocks.run.timed_code import clock, fenced, timed
from learned_schedulers.blocks.run.timing import Lost, Timing, start_state, time_orders
from learned_schedulers.blocks.run.timing_settings import TimingSettings

SETTINGS = TimingSettings(
    seed=5, blocks=9, random_orders=6, copies=20, rounds=5, trials=6, states=8
)  # fmt: skip


def measure(native: Native, text: str, *orders: Order) -> Timing | Lost:
    code = assemble(text).code
    timed_orders = orders or (tuple(range(text.count("\n") + 1)),)
    return time_orders(native, code, 0x401230, timed_orders, SETTINGS, np.random.default_rng(0))


def cycles(native: Native, text: str) -> float:
    timing = measure(native, text)
    assert isinstance(timing, Timing), timing
    return float(timing.cycles[0])


def test_operands_relative_to_the_instruction_keep_their_targets_in_every_copy() -> None:
    program = prepare(assemble("mov 0x2000(%rip), %rax\n nop\n addl $3, 0x123(%rip)").code, 0x1000)
    targets = {i.ip_rel_memory_address for i in program.instructions if i.is_ip_rel_memory_operand}
    body = fenced(program, [2, 0, 1], 3, HOME - layout.NOTES_BELOW, [0, 12])
    decoded = list(Decoder(64, body(program.start), ip=program.start))
    names = ["ADD", "MOV", "NOP", "MOV", "MOV", "LFENCE"]
    assert [i.mnemonic for i in decoded] == [getattr(Mnemonic, name) for name in names] * 3
    restored = {HOME - layout.NOTES_BELOW + layout.FIRST_REGISTERS + 8 * number for number in (0, 12)}
    assert {i.ip_rel_memory_address for i in decoded if i.is_ip_rel_memory_operand} == targets | restored


def test_a_piece_reads_the_counter_twice_and_jumps_to_its_body() -> None:
    code, begin = timed(clock, HOME, HOME - layout.NOTES_BELOW, 7)
    decoded = list(Decoder(64, code, ip=HOME))
    assert sum(i.mnemonic == Mnemonic.RDTSC for i in decoded) == 2
    jumps = [i.near_branch_target for i in decoded if i.mnemonic == Mnemonic.JNE]
    instruction_at = {i.ip: i for i in decoded}
    assert jumps[1] == HOME + begin and instruction_at[jumps[0]].mnemonic == Mnemonic.DEC


def test_a_chain_takes_longer_than_as_many_independent_instructions(native: Native) -> None:
    chain = "\n".join(["imul %rax, %rax"] * 24)
    apart = "\n".join(["imul %rax, %rax", "imul %rcx, %rcx", "imul %rsi, %rsi", "imul %rdi, %rdi"] * 6)
    assert cycles(native, chain) > 1.5 * cycles(native, apart)


def test_cycles_of_a_chain_are_those_of_the_clock(native: Native) -> None:
    """40 and 80 dependent multiplications differ by 40 times 3 cycles, whatever the fence costs."""
    short, long = ("\n".join(["imul %eax, %eax"] * n) for n in (40, 80))
    assert cycles(native, long) - cycles(native, short) == pytest.approx(120, rel=0.3)


def test_a_block_that_changes_its_pointers_runs_repeatedly(native: Native) -> None:
    timing = measure(native, "mov (%rdi), %rax\n add $0x1000, %rdi\n push %rax\n xor %edi, %edi\n pop %rsi")
    assert isinstance(timing, Timing) and timing.pages <= 3


@pytest.mark.parametrize(
    ("text", "reason", "example"),
    [
        ("nop\n xor %ecx, %ecx\n xor %edx, %edx\n div %ecx", "division fault", "div ecx"),
        ("mov %rax, %rcx\n syscall", "system call", "syscall"),
        ("mov $-1, %rcx\n rep stosb", "too many pages", "rep stosb"),
        ("nop\n movaps 1(%rax), %xmm0", "general protection", "movaps"),
    ],
)
def test_a_block_that_cannot_be_timed_says_why(native: Native, text: str, reason: str, example: str) -> None:
    timing = measure(native, text)
    assert isinstance(timing, Lost)
    assert reason in timing.reason and example in timing.example
    assert cycles(native, "nop") > 0


def test_orders_that_do_not_leave_the_same_state_are_not_compared(native: Native) -> None:
    timing = measure(native, "mov $1, %eax\n mov $2, %eax", (0, 1), (1, 0))
    assert timing == Lost("piece 1 leaves another state than the first")


def task(seconds: float, text: str, seed: int = 0, trials: int = 2) -> TimedTask:
    program = prepare(assemble("nop").code, 0)
    piece = assemble(text).code
    state = start_state(roles(program), 0, np.random.default_rng(0))
    return TimedTask(HOME, [piece, piece], 2, [state], trials, seed, seconds=seconds)


def test_endless_code_reaches_its_limit_and_the_next_one_runs(native: Native) -> None:
    assert native.time(task(0.5, "x: jmp x")).lost == "time limit"
    assert native.time(task(5.0, "nop")).lost == ""


def test_many_trials_reach_the_limit_as_well(native: Native) -> None:
    assert native.time(task(0.5, "nop", trials=10_000_000)).lost == "time limit"


def test_code_under_the_clock_makes_no_system_calls(native: Native) -> None:
    assert "SIGSYS" in native.time(task(2.0, "mov $57, %eax\n syscall")).lost  # fork


def test_the_sequence_of_the_pieces_is_drawn_anew_in_each_trial_and_seeded(native: Native) -> None:
    """The pieces count runs instead of ticks, so each count tells the position in the sequence."""

    def turns(seed: int) -> list[list[int]]:
        pieces = [_counting() for _ in range(5)]
        state = start_state(roles(prepare(assemble("nop").code, 0)), 0, np.random.default_rng(0))
        ticks = native.time(TimedTask(HOME, pieces, 1, [state], 3, seed))
        assert not ticks.lost, ticks
        return [[int(n) for n in np.argsort(np.argsort(row))] for row in ticks.ticks]

    first = turns(1)
    assert first == turns(1)
    assert len({tuple(row) for row in first + turns(2)}) > 1


def _counting() -> bytes:
    """A piece that adds one to the note of the end time, which is never reset."""
    end_note = HOME - layout.NOTES_BELOW + layout.END
    instruction = assemble("incq 0x1000(%rip)").code  # seven bytes
    return instruction[:3] + (end_note - HOME - len(instruction)).to_bytes(4, "little", signed=True)
