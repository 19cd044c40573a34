"""Cycles of orders of a block on this processor, measured by pieces of code that time themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from learned_schedulers.blocks.run import drawing, layout
from learned_schedulers.blocks.run.executable import NotRunnable, Program, prepare, text
from learned_schedulers.blocks.run.legal_orders import Order
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Fault, TimedTask
from learned_schedulers.blocks.run.roles import Roles, roles, written_registers
from learned_schedulers.blocks.run.states import State
from learned_schedulers.blocks.run.timed_code import CLOCK_CYCLES, clock, fenced, timed
from learned_schedulers.blocks.run.timing_settings import TimingSettings

_MXCSR = 0x9FC0  # all exceptions masked, denormals treated as zero, because they take hundreds of cycles
_RAX, _RDX, _RSP = 0, 2, 4
_LANES = 64  # bytes of a vector register


@dataclass(frozen=True)
class Timing:
    """Measurements of K orders, in core cycles of one execution, including its fence."""

    cycles: np.ndarray  # (K,) minimum over all trials
    halves: np.ndarray  # (2, K) minimum over the even trials, and over the odd ones
    fence_cycles: float  # of an execution without instructions
    cycles_per_tick: float  # core cycles per tick of the time-stamp counter
    pages: int  # number of pages of memory that the block touches, 4 KiB each


@dataclass(frozen=True)
class Lost:
    """The reason why a block was not timed, and the instruction to blame, if there is one."""

    reason: str
    example: str = ""


def start_state(used: Roles, turn: int, rng: np.random.Generator) -> State:
    """A state like `drawing.plain`, without denormals, and with unused upper halves of vector registers."""
    state = drawing.plain(used, turn, rng)
    vectors = np.frombuffer(state.vectors, np.uint8).reshape(-1, _LANES).copy()
    vectors[:, 16:] = 0
    vectors[16:] = 0
    return replace(state, mxcsr=_MXCSR, vectors=vectors.tobytes())


def time_orders(
    native: Native,
    code: bytes,
    address: int,
    orders: Sequence[Order],
    settings: TimingSettings,
    rng: np.random.Generator,
) -> Timing | Lost:
    """Time K legal orders of a block. All run from the same state of registers and memory, trial by trial.

    code: the block's bytes at `address`. The result is Lost if the block cannot run, or if its orders do not leave the
    same registers.
    """
    try:
        program = prepare(code, address)
    except NotRunnable as error:
        return Lost(error.reason, error.example)
    start, notes = program.start, program.start - layout.NOTES_BELOW
    block_roles = roles(program)
    restored = sorted(written_registers(program) & preserved_registers(block_roles))
    bodies = [*(fenced(program, order, settings.copies, notes, restored) for order in (*orders, ())), clock]
    pieces = [timed(body, start, notes, settings.rounds) for body in bodies]
    task = TimedTask(
        start,
        [piece for piece, _ in pieces],
        len(orders),
        [start_state(block_roles, turn, rng) for turn in range(settings.states)],
        settings.trials,
        int(rng.integers(1 << 31)),
        program.segments,
        program.constants,
    )
    ticks = native.time(task)
    if ticks.lost:
        return Lost(
            ticks.lost, _faulting_instruction(program, orders[ticks.piece], ticks.fault, pieces[0][1], restored)
        )
    return _timing(np.array(ticks.ticks, float), ticks.pages, settings)


def preserved_registers(used: Roles) -> set[int]:
    """Registers that must have the same values at each repetition, so that the block always runs as the first time."""
    return used.bases | used.indices | used.counts | {_RSP} | ({_RAX, _RDX} if used.divides else set())


def _faulting_instruction(program: Program, order: Order, fault: Fault | None, begin: int, restored: list[int]) -> str:
    """The text of the instruction that faulted, or "". begin: offset of the first copy of the block in the piece."""
    if fault is None:
        return ""
    ends = np.cumsum([len(program.pieces[i]) for i in order])
    copy = fenced(program, order, 1, 0, restored)(0)
    slot = int(np.searchsorted(ends, (fault.offset - begin) % len(copy), "right"))
    return text(program, order[slot]) if slot < len(order) else ""


def _timing(ticks: np.ndarray, pages: int, settings: TimingSettings) -> Timing:
    """ticks: (trials, K + 2); the last two columns are of no instructions and of the clock."""
    cycles_per_tick = CLOCK_CYCLES * settings.rounds / ticks[:, -1].min()
    cycles = ticks[:, :-1] * cycles_per_tick / (settings.copies * settings.rounds)
    halves = np.stack([cycles[half::2, :-1].min(0) for half in (0, 1)])
    fewest = cycles.min(0)
    return Timing(fewest[:-1], halves, float(fewest[-1]), float(cycles_per_tick), pages)
