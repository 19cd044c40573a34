"""Sensitivity of the oracle: if two neighbours with an edge between them exchange places, the final state must change.

Every swap that changes nothing is examined by experiments, one after the other:

1. The block runs only up to the pair. If the states differ there, the rest of the block hides it: `dead value`.
2. The pair runs alone, from separate states. If the states differ, the edge is right, and the values that the pair gets
   in the block hide it (a constant, a mask, addresses that are never equal): `value coincidence`.
3. If nothing distinguishes the two orders of the pair, the edge is an `over-conservative edge` if a reason for it is
   known. Otherwise the pair runs from many more states, and it is `unexplained` if these do not distinguish the orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.dag.dependencies import Kind, block_dag
from learned_schedulers.blocks.dag.settings import Dependencies
from learned_schedulers.blocks.run import drawing, layout
from learned_schedulers.blocks.run.comparison import Comparison, compare, run
from learned_schedulers.blocks.run.conservative import MEMORY, over_conservative
from learned_schedulers.blocks.run.executable import Program, prepare, text
from learned_schedulers.blocks.run.oracle import Executor
from learned_schedulers.blocks.run.roles import Roles, roles
from learned_schedulers.blocks.run.states import State
from learned_schedulers.blocks.run.verification import LEAST_STATES, Block, generator, runnable
from learned_schedulers.blocks.run.verification_settings import Verification

_PERSISTENCE = 16  # factor for the number of states of an unexplained pair


@dataclass(frozen=True)
class Swap:
    """A row of table `sensitivity`."""

    block_id: str
    source: str
    dependencies: str
    position: int  # of the first instruction
    kinds: int  # bit set of dependencies.Kind
    first: str  # text of the first instruction
    second: str  # and of the second
    outcome: str  # changed | dead value | value coincidence | over-conservative edge | unexplained
    explanation: str


def swaps(executor: Executor, block: Block, modes: Sequence[Dependencies], settings: Verification) -> list[Swap]:
    """The outcome of every swap of neighbours with an edge, per mode; none for a block that does not run."""
    rng = generator(settings.seed + 1, block)
    program, block_roles = runnable(block)
    edges = {
        mode: {
            before: kinds
            for before, after, kinds in block_dag(block.code, mode, block.address, block.addresses_known).edges
            if after == before + 1
        }
        for mode in modes
    }
    kinds_at: dict[int, Kind] = {}
    for kinds_of_position in edges.values():
        for position, kinds in kinds_of_position.items():
            kinds_at[position] = kinds_at.get(position, Kind(0)) | kinds
    if not kinds_at:
        return []
    outcomes = _outcomes(executor, program, block_roles, kinds_at, settings, rng)
    return [
        Swap(
            block.block_id, block.source, mode, position, int(kinds), text(program, position),
            text(program, position + 1), *outcomes[position],
        )
        for mode, kinds_of_position in edges.items()
        for position, kinds in kinds_of_position.items()
        if position in outcomes
    ]  # fmt: skip


def _swapped(n: int, position: int) -> list[int]:
    order = list(range(n))
    order[position], order[position + 1] = position + 1, position
    return order


def _outcomes(
    executor: Executor,
    program: Program,
    block_roles: Roles,
    kinds_at: dict[int, Kind],
    settings: Verification,
    rng: np.random.Generator,
) -> dict[int, tuple[str, str]]:
    n = len(program.instructions)
    positions = sorted(kinds_at)
    orders = [list(range(n)), *(_swapped(n, position) for position in positions)]
    comparison = compare(executor, program, block_roles, orders, settings.states, settings.aliased_states, rng)
    if comparison.lost or len(comparison.states) < LEAST_STATES:
        return {}
    changed = {position for i, position in enumerate(positions, 1) if max(comparison.column(i)) >= layout.DIFFERENT}
    outcomes = {position: ("changed", "") for position in changed}
    missed = [position for position in positions if position not in changed]
    if missed:
        orders = [list(range(n)), *(_swapped(n, position) for position in missed)]
        search = _search(executor, program, block_roles, orders, missed, settings, rng)
        for i, position in enumerate(missed, 1):
            if max(search.column(i), default=0) >= layout.DIFFERENT:
                outcomes[position] = ("changed", "by more states")
            else:
                outcomes[position] = _explain(
                    executor, program, block_roles, position, kinds_at[position], search, settings, rng
                )
    return outcomes


def _search(
    executor: Executor,
    program: Program,
    block_roles: Roles,
    orders: list[list[int]],
    positions: list[int],
    settings: Verification,
    rng: np.random.Generator,
) -> Comparison:
    """A comparison from many more states; some of them try to make the operands of these pairs overlap."""
    count = settings.search_states
    comparison = Comparison()
    states: list[State] = [drawing.plain(block_roles, turn, rng) for turn in range(count // 2)]
    states += [drawing.odd(block_roles, turn, rng) for turn in range(count // 4)]
    states += [drawing.aliased(block_roles, turn, rng) for turn in range(count // 4)]
    for position in positions:
        turns = max(4, count // len(positions))
        states += [drawing.aimed(block_roles, position, position + 1, turn, rng) for turn in range(turns)]
    run(executor, program, orders, states, comparison)
    return comparison


def _explain(
    executor: Executor,
    program: Program,
    block_roles: Roles,
    position: int,
    kinds: Kind,
    searched: Comparison,
    settings: Verification,
    rng: np.random.Generator,
) -> tuple[str, str]:
    prefix = Comparison()
    original = list(range(position + 2))
    run(executor, program, [original, _swapped(position + 2, position)], searched.states, prefix)
    if max(prefix.column(1), default=0) >= layout.DIFFERENT:
        return "dead value", "absorbed by what follows"
    pair = _pair(program, position)
    pair_roles = roles(pair)
    n_states = 0
    for search_settings in (
        settings,
        settings.model_copy(update={"search_states": _PERSISTENCE * settings.search_states}),
    ):
        codes = _search(executor, pair, pair_roles, [[0, 1], [1, 0]], [0], search_settings, rng).column(1)
        if max(codes, default=0) >= layout.DIFFERENT:
            return "value coincidence", "addresses do not meet" if not kinds & ~MEMORY else "values"
        if reason := over_conservative(pair, pair_roles, kinds, codes):
            return "over-conservative edge", reason
        n_states += len(codes)
    return "unexplained", f"{n_states} states"


def _pair(program: Program, position: int) -> Program:
    """The two instructions alone, at their addresses."""
    first = program.instructions[position]
    return prepare(b"".join(program.pieces[position : position + 2]), first.ip)
