"""Cycles that this processor takes for orders of a block, by pieces of code that time themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.blocks.execution import drawing, layout
from pipeline.blocks.execution.executable import NotRunnable, Program, prepare, text
from pipeline.blocks.execution.legal_orders import Order
from pipeline.blocks.execution.native import Native
from pipeline.blocks.execution.oracle import Fault, TimedTask
from pipeline.blocks.execution.roles import Roles, roles, written
from pipeline.blocks.execution.states import State
from pipeline.blocks.execution.timed_code import CLOCK_CYCLES, clock, fenced, timed
from pipeline.config.timing import TimingSettings

_MXCSR = 0x9FC0  # all exceptions masked, denormals flushed and taken as zero: they take hundreds of cycles
_RAX, _RDX, _RSP = 0, 2, 4
_LANES = 64  # bytes of a vector register


@dataclass(frozen=True)
class Timing:
    """What was measured of K orders, in core cycles of one execution, its fence included."""

    cycles: np.ndarray  # (K,) the fewest of all trials
    halves: np.ndarray  # (2, K) the fewest of the even trials, and of the odd ones
    fence_cycles: float  # of an execution of nothing
    cycles_per_tick: float  # core cycles per tick of the time-stamp counter
    pages: int  # of memory that the block touches, 4 KiB each


@dataclass(frozen=True)
class Lost:
    """Why a block was not timed, and the instruction that is to blame, if one is."""

    reason: str
    example: str = ""


def start_state(used: Roles, turn: int, rng: np.random.Generator) -> State:
    """As `drawing.plain`, without denormals, and with the upper halves of vector registers unused."""
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

    code: of the block as found at `address`. A block that cannot be run, or that does not leave the same registers in
    all orders, is Lost.
    """
    try:
        program = prepare(code, address)
    except NotRunnable as error:
        return Lost(error.reason, error.example)
    at, notes = program.start, program.start - layout.NOTES_BELOW
    used = roles(program)
    renewed = sorted(written(program) & addressing(used))
    bodies = [*(fenced(program, order, settings.copies, notes, renewed) for order in (*orders, ())), clock]
    made = [timed(body, at, notes, settings.rounds) for body in bodies]
    task = TimedTask(
        at,
        [piece for piece, _ in made],
        len(orders),
        [start_state(used, turn, rng) for turn in range(settings.states)],
        settings.trials,
        int(rng.integers(1 << 31)),
        program.segments,
        program.constants,
    )
    found = native.time(task)
    if found.lost:
        return Lost(found.lost, _at(program, orders[found.piece], found.fault, made[0][1], renewed))
    return _timing(np.array(found.ticks, float), found.pages, settings)


def addressing(used: Roles) -> set[int]:
    """Registers that have to keep their values for a block to run again and again as it runs at first."""
    return used.bases | used.indices | used.counts | {_RSP} | ({_RAX, _RDX} if used.divides else set())


def _at(program: Program, order: Order, fault: Fault | None, begin: int, renewed: list[int]) -> str:
    """The instruction of a copy that a fault was in. begin: offset of the first copy in the piece."""
    if fault is None:
        return ""
    ends = np.cumsum([len(program.pieces[i]) for i in order])
    copy = fenced(program, order, 1, 0, renewed)(0)
    slot = int(np.searchsorted(ends, (fault.offset - begin) % len(copy), "right"))
    return text(program, order[slot]) if slot < len(order) else ""


def _timing(ticks: np.ndarray, pages: int, settings: TimingSettings) -> Timing:
    """ticks: (trials, K + 2), the last two of nothing and of the clock."""
    cycles_per_tick = CLOCK_CYCLES * settings.rounds / ticks[:, -1].min()
    cycles = ticks[:, :-1] * cycles_per_tick / (settings.copies * settings.rounds)
    halves = np.stack([cycles[half::2, :-1].min(0) for half in (0, 1)])
    fewest = cycles.min(0)
    return Timing(fewest[:-1], halves, float(fewest[-1]), float(cycles_per_tick), pages)
