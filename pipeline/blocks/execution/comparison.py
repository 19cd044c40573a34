"""Running a block in its own order and in others, from enough start states, and comparing where that leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.blocks.execution import drawing, layout
from pipeline.blocks.execution.executable import Program, assemble_all, text
from pipeline.blocks.execution.oracle import Executor, Task
from pipeline.blocks.execution.roles import Roles
from pipeline.blocks.execution.states import State

ROUNDS = 4  # of drawing states in place of those from which the original order faults


@dataclass
class Comparison:
    """Codes (layout.EQUAL ...) of the orders after the first, one row per state from which the first one ran."""

    codes: list[tuple[int, ...]] = field(default_factory=list)
    states: list[State] = field(default_factory=list)  # of the rows
    dropped: Counter[str] = field(default_factory=Counter)  # reason -> states from which the first order faulted
    examples: dict[str, str] = field(default_factory=dict)  # reason -> an instruction that faulted
    lost: str = ""  # why there is nothing
    different: int = -1  # first order that differs, and in what
    difference: str = ""

    @property
    def n_aliased(self) -> int:
        return sum(state.aliased for state in self.states)

    def column(self, order: int) -> list[int]:
        """Codes of orders[order], by state."""
        return [codes[order - 1] for codes in self.codes]


def run(
    executor: Executor, program: Program, orders: Sequence[Sequence[int]], states: list[State], found: Comparison
) -> None:
    """Add to `found` what all orders do from `states`. The first runs twice, so that its own result is checked."""
    task = Task(
        program.start,
        assemble_all(program, [orders[0], *orders]),
        states,
        program.segments,
        program.undefined_flags,
        program.constants,
    )
    execution = executor.execute(task)
    found.lost = execution.lost
    for state, result in zip(states, execution.runs, strict=False):
        if result.fault is not None:
            found.dropped[result.fault.reason] += 1
            found.examples.setdefault(result.fault.reason, _at(program, orders[0], result.fault.offset))
        elif result.codes[0] != layout.EQUAL:
            found.lost = "result differs from run to run"
            found.difference = execution.difference
        else:
            found.states.append(state)
            found.codes.append(result.codes[1:])
    if found.different < 0 and execution.different > 0:
        found.different, found.difference = execution.different - 1, execution.difference


def _at(program: Program, order: Sequence[int], offset: int) -> str:
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
    """Run all orders from `n_states` states, `n_aliased` of them with pointers that alias where the block has pointers.

    A state from which the first order faults is replaced, ROUNDS times at most.
    """
    found = Comparison()
    alias = drawing.can_alias(roles)
    turns: Counter[bool] = Counter()

    def more(kind: bool, number: int, draw: Callable[[Roles, int, np.random.Generator], State]) -> list[State]:
        first = turns[kind]
        turns[kind] += number
        return [draw(roles, turn, rng) for turn in range(first, first + number)]

    for attempt in range(ROUNDS):
        aliased = n_aliased - found.n_aliased if alias else 0
        plain = n_states - len(found.states) - aliased
        spare = 1 if attempt == 0 else 2  # replacements may fault as well
        states = more(False, max(plain, 0) * spare, drawing.plain) + more(True, aliased * spare, drawing.aliased)
        if not states or found.lost:
            break
        run(executor, program, orders, states, found)
    return found
