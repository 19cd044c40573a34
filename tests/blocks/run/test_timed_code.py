"""Code that times itself: its encoding, its limits, and the reports of code that cannot be timed."""

from __future__ import annotations

import numpy as np
from iced_x86 import Decoder, Mnemonic

from learned_schedulers.blocks.run import drawing, layout
from learned_schedulers.blocks.run.executable import HOME, prepare
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import TimedTask
from learned_schedulers.blocks.run.roles import roles
from learned_schedulers.blocks.run.states import State
from learned_schedulers.blocks.run.timed_code import clock, timed


def test_a_piece_reads_the_counter_twice_and_jumps_to_its_body() -> None:
    code, begin = timed(clock, HOME, HOME - layout.NOTES_BELOW, 7)
    decoded = list(Decoder(64, code, ip=HOME))
    assert sum(i.mnemonic == Mnemonic.RDTSC for i in decoded) == 2
    jumps = [i.near_branch_target for i in decoded if i.mnemonic == Mnemonic.JNE]
    instruction_at = {i.ip: i for i in decoded}
    assert jumps[1] == HOME + begin and instruction_at[jumps[0]].mnemonic == Mnemonic.DEC


def test_pieces_that_do_not_leave_the_same_state_are_not_compared(native: Native) -> None:
    pieces = [assemble(text).code for text in ("mov $1, %eax", "mov $2, %eax")]
    answer = native.time(TimedTask(HOME, pieces, 2, [start()], 2, 0))
    assert answer.lost == "piece 1 leaves another state than the first"


def test_a_piece_that_faults_says_why(native: Native) -> None:
    assert "division fault" in native.time(task(5.0, "xor %ecx, %ecx\n xor %edx, %edx\n div %ecx")).lost
    assert native.time(task(5.0, "nop")).lost == ""


def start() -> State:
    return drawing.plain(roles(prepare(assemble("nop").code, 0)), 0, np.random.default_rng(0))


def task(seconds: float, text: str, seed: int = 0, trials: int = 2) -> TimedTask:
    piece = assemble(text).code
    return TimedTask(HOME, [piece, piece], 2, [start()], trials, seed, seconds=seconds)


def test_endless_code_reaches_its_limit_and_the_next_one_runs(native: Native) -> None:
    assert native.time(task(0.5, "x: jmp x")).lost == "time limit"
    assert native.time(task(5.0, "nop")).lost == ""


def test_code_under_the_clock_makes_no_system_calls(native: Native) -> None:
    assert "SIGSYS" in native.time(task(2.0, "mov $57, %eax\n syscall")).lost  # fork


def test_the_sequence_of_the_pieces_is_drawn_anew_in_each_trial_and_seeded(native: Native) -> None:
    """The pieces count runs instead of ticks, so each count tells the position in the sequence."""

    def turns(seed: int) -> list[list[int]]:
        pieces = [_counting() for _ in range(5)]
        ticks = native.time(TimedTask(HOME, pieces, 1, [start()], 3, seed))
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
