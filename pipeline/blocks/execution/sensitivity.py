"""Whether the oracle sees a broken dependency: neighbours that share an edge change places, and the state must change.

Every swap that goes unseen is looked into, one experiment after the other:

1. The block up to the pair and no further: where the states differ there, the rest of the block hides it: `dead value`.
2. The pair alone, from states of its own: where they differ, the edge is right, and it is the values that the block
   gives the pair that hide it (a constant, a mask, addresses that never meet): `value coincidence`.
3. Where nothing tells the two orders of the pair apart, the edge is an `over-conservative edge` if a reason for that is
   known; else the pair is given many more states, and is `unexplained` if these do not tell them apart either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.blocks.dag.dependencies import Kind, block_dag
from pipeline.blocks.execution import drawing, layout
from pipeline.blocks.execution.comparison import Comparison, compare, run
from pipeline.blocks.execution.conservative import MEMORY, over_conservative
from pipeline.blocks.execution.executable import Program, prepare, text
from pipeline.blocks.execution.oracle import Executor
from pipeline.blocks.execution.roles import Roles, roles
from pipeline.blocks.execution.states import State
from pipeline.blocks.execution.verification import LEAST_STATES, Block, generator, runnable
from pipeline.config.dags import Dependencies
from pipeline.config.verification import Verification

_PERSISTENCE = 16  # how many times as many states a pair is given that nothing explains


@dataclass(frozen=True)
class Swap:
    """A row of table `sensitivity`."""

    block_id: str
    source: str
    dependencies: str
    position: int  # of the first of the two
    kinds: int  # bit set of dependencies.Kind
    first: str  # their texts
    second: str
    outcome: str  # changed | dead value | value coincidence | over-conservative edge | unexplained
    explanation: str


def swaps(executor: Executor, block: Block, modes: Sequence[Dependencies], settings: Verification) -> list[Swap]:
    """What swapping every pair of neighbours with an edge does, per mode; nothing for a block that does not run."""
    rng = generator(settings.seed + 1, block)
    program, used = runnable(block)
    edges = {
        mode: {
            before: kinds
            for before, after, kinds in block_dag(block.code, mode, block.address, block.addresses_known).edges
            if after == before + 1
        }
        for mode in modes
    }
    kinds_at: dict[int, Kind] = {}
    for found in edges.values():
        for position, kinds in found.items():
            kinds_at[position] = kinds_at.get(position, Kind(0)) | kinds
    if not kinds_at:
        return []
    outcomes = _outcomes(executor, program, used, kinds_at, settings, rng)
    return [
        Swap(
            block.block_id, block.source, mode, position, int(kinds), text(program, position),
            text(program, position + 1), *outcomes[position],
        )
        for mode, found in edges.items()
        for position, kinds in found.items()
        if position in outcomes
    ]  # fmt: skip


def _swapped(n: int, position: int) -> list[int]:
    order = list(range(n))
    order[position], order[position + 1] = position + 1, position
    return order


def _outcomes(
    executor: Executor,
    program: Program,
    used: Roles,
    kinds_at: dict[int, Kind],
    settings: Verification,
    rng: np.random.Generator,
) -> dict[int, tuple[str, str]]:
    n = len(program.instructions)
    positions = sorted(kinds_at)
    orders = [list(range(n)), *(_swapped(n, position) for position in positions)]
    found = compare(executor, program, used, orders, settings.states, settings.aliased_states, rng)
    if found.lost or len(found.states) < LEAST_STATES:
        return {}
    changed = {p for i, p in enumerate(positions, 1) if max(found.column(i)) >= layout.DIFFERENT}
    outcomes = {p: ("changed", "") for p in changed}
    missed = [p for p in positions if p not in changed]
    if missed:
        orders = [list(range(n)), *(_swapped(n, position) for position in missed)]
        again = _thoroughly(executor, program, used, orders, missed, settings, rng)
        for i, p in enumerate(missed, 1):
            if max(again.column(i), default=0) >= layout.DIFFERENT:
                outcomes[p] = ("changed", "by more states")
            else:
                outcomes[p] = _explain(executor, program, used, p, kinds_at[p], again, settings, rng)
    return outcomes


def _thoroughly(
    executor: Executor,
    program: Program,
    used: Roles,
    orders: list[list[int]],
    positions: list[int],
    settings: Verification,
    rng: np.random.Generator,
) -> Comparison:
    """Many more states, some of them aimed at making the operands of these pairs overlap."""
    count = settings.search_states
    found = Comparison()
    states: list[State] = [drawing.plain(used, turn, rng) for turn in range(count // 2)]
    states += [drawing.odd(used, turn, rng) for turn in range(count // 4)]
    states += [drawing.aliased(used, turn, rng) for turn in range(count // 4)]
    for position in positions:
        turns = max(4, count // len(positions))
        states += [drawing.aimed(used, position, position + 1, turn, rng) for turn in range(turns)]
    run(executor, program, orders, states, found)
    return found


def _explain(
    executor: Executor,
    program: Program,
    used: Roles,
    position: int,
    kinds: Kind,
    searched: Comparison,
    settings: Verification,
    rng: np.random.Generator,
) -> tuple[str, str]:
    prefix = Comparison()
    beginning = list(range(position + 2))
    run(executor, program, [beginning, _swapped(position + 2, position)], searched.states, prefix)
    if max(prefix.column(1), default=0) >= layout.DIFFERENT:
        return "dead value", "absorbed by what follows"
    pair = _pair(program, position)
    of_pair = roles(pair)
    tried = 0
    for effort in (settings, settings.model_copy(update={"search_states": _PERSISTENCE * settings.search_states})):
        codes = _thoroughly(executor, pair, of_pair, [[0, 1], [1, 0]], [0], effort, rng).column(1)
        if max(codes, default=0) >= layout.DIFFERENT:
            return "value coincidence", "addresses do not meet" if not kinds & ~MEMORY else "values"
        if reason := over_conservative(pair, of_pair, kinds, codes):
            return "over-conservative edge", reason
        tried += len(codes)
    return "unexplained", f"{tried} states"


def _pair(program: Program, position: int) -> Program:
    """The two instructions alone, where they stand."""
    first = program.instructions[position]
    return prepare(b"".join(program.pieces[position : position + 2]), first.ip)
