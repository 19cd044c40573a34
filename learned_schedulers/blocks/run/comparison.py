"""Runs of a block in its original order and in others, from enough start states, and a comparison of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from learned_schedulers.blocks.run import drawing, layout
from learned_schedulers.blocks.run.executable import Program, assemble_all, text
from learned_schedulers.blocks.run.oracle import Executor, Task
from learned_schedulers.blocks.run.roles import Roles
from learned_schedulers.blocks.run.states import State

ROUNDS = 4  # of drawing states; later ones replace the states from which the original order faults


@dataclass
class Comparison:
    """Codes (layout.EQUAL ...) of the orders after the first, one row per state from which the first order runs."""

    codes: list[tuple[int, ...]] = field(default_factory=list)
    states: list[State] = field(default_factory=list)  # the start state of each row
    dropped: Counter[str] = field(
        default_factory=Counter
    )  # reason -> number of states from which the first order faults
    examples: dict[str, str] = field(default_factory=dict)  # reason -> an instruction that faults
    lost: str = ""  # the reason if there is no result
    different: int = -1  # the first order that differs; the next field describes the difference
    difference: str = ""

    @property
    def n_aliased(self) -> int:
        return sum(state.aliased for state in self.states)

    def column(self, order: int) -> list[int]:
        """Codes of orders[order], by state."""
        return [codes[order - 1] for codes in self.codes]


def run(
    executor: Executor, program: Program, orders: Sequence[Sequence[int]], states: list[State], comparison: Comparison
) -> None:
    """Add to `comparison` the results of all orders from `states`. The first order runs twice, as a check."""
    task = Task(
        program.start,
        assemble_all(program, [orders[0], *orders]),
        states,
        program.segments,
        program.undefined_flags,
        program.constants,
    )
    execution = executor.execute(task)
    comparison.lost = execution.lost
    for state, result in zip(states, execution.runs, strict=False):
        if result.fault is not None:
            comparison.dropped[result.fault.reason] += 1
            comparison.examples.setdefault(
                result.fault.reason, _instruction_at(program, orders[0], result.fault.offset)
            )
        elif result.codes[0] != layout.EQUAL:
            comparison.lost = "result differs from run to run"
            comparison.difference = execution.difference
        else:
            comparison.states.append(state)
            comparison.codes.append(result.codes[1:])
    if comparison.different < 0 and execution.different > 0:
        comparison.different, comparison.difference = execution.different - 1, execution.difference


def _instruction_at(program: Program, order: Sequence[int], offset: int) -> str:
    """The instruction that covers byte `offset` of the code in `order`."""
    end = 0
    for i in order:
        end += len(program.pieces[i])
        if 0 <= offset < end:
            return text(program, i)
    return ""


def compare(
    executor: Executor,
    program: Program,
    roles: Roles,
    orders: Sequence[Sequence[int]],
    n_states: int,
    n_aliased: int,
    rng: np.random.Generator,
) -> Comparison:
    """Run all orders from `n_states` states. In `n_aliased` of them pointers alias, if the block has pointers.

    A state from which the first order faults is replaced at most ROUNDS times.
    """
    comparison = Comparison()
    can_alias = drawing.can_alias(roles)
    n_drawn: Counter[bool] = Counter()

    def drawn(is_aliased: bool, number: int, draw: Callable[[Roles, int, np.random.Generator], State]) -> list[State]:
        first_turn = n_drawn[is_aliased]
        n_drawn[is_aliased] += number
        return [draw(roles, turn, rng) for turn in range(first_turn, first_turn + number)]

    for attempt in range(ROUNDS):
        n_more_aliased = n_aliased - comparison.n_aliased if can_alias else 0
        n_more_plain = n_states - len(comparison.states) - n_more_aliased
        factor = 1 if attempt == 0 else 2  # replacements may fault as well
        states = drawn(False, max(n_more_plain, 0) * factor, drawing.plain) + drawn(
            True, n_more_aliased * factor, drawing.aliased
        )
        if not states or comparison.lost:
            break
        run(executor, program, orders, states, comparison)
    return comparison
