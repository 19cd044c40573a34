"""Whether orders that the DAG allows leave the machine in the state in which the original order leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.blocks.dag.dependencies import block_dag
from pipeline.blocks.execution import layout
from pipeline.blocks.execution.comparison import Comparison, compare
from pipeline.blocks.execution.executable import NotRunnable, Program, prepare
from pipeline.blocks.execution.legal_orders import Order, draw
from pipeline.blocks.execution.oracle import Executor
from pipeline.blocks.execution.roles import Roles, roles
from pipeline.config.dags import Dependencies
from pipeline.config.verification import Verification

LEAST_STATES = 3  # from which a block has to run, to count


@dataclass(frozen=True)
class Block:
    """A row of table `blocks`, as far as running it needs it."""

    block_id: str
    source: str
    instruction_class: str
    n_instructions: int
    code: bytes
    address: int
    addresses_known: bool


@dataclass(frozen=True)
class Verdict:
    """A row of table `verification`."""

    block_id: str
    source: str
    instruction_class: str
    n_instructions: int
    dependencies: str
    orders_tried: int  # without the original
    states: int  # from which the original order ran
    aliased_states: int  # of them, with pointers made to alias
    state_runs: int  # orders_tried * states, the original's own not counted
    outcome: str  # equal | different | single order | not runnable
    different: int  # state-runs
    reason: str  # why it is not runnable
    example: str  # the instruction that is to blame
    undefined_flags_differ: int  # state-runs that agree but for flags which are undefined at the end
    different_order: list[int]
    difference: str  # in what they differ


def generator(seed: int, block: Block) -> np.random.Generator:
    """The block's own random numbers, whichever process runs it."""
    return np.random.default_rng([seed, int(block.block_id[:16], 16)])


def runnable(block: Block) -> tuple[Program, Roles]:
    """Raises NotRunnable with the reason."""
    program = prepare(block.code, block.address)
    return program, roles(program)


def verify(
    executor: Executor, block: Block, modes: Sequence[Dependencies], settings: Verification
) -> tuple[list[Verdict], bool]:
    """One verdict per mode of dependencies. Orders that several modes allow run once.

    Returns also whether the block ran, from enough states.
    """
    rng = generator(settings.seed, block)
    try:
        program, used = runnable(block)
    except NotRunnable as error:
        lost = (error.reason, error.example)
        return [_verdict(block, mode, [], [], Comparison(), *lost) for mode in modes], False
    dags = {mode: block_dag(block.code, mode, block.address, block.addresses_known) for mode in modes}
    orders = {mode: draw(dag.predecessors(), settings.orders, rng) for mode, dag in dags.items()}
    original: Order = tuple(range(block.n_instructions))
    distinct = list(dict.fromkeys([original, *(order for drawn in orders.values() for order in drawn)]))
    found = compare(executor, program, used, distinct, settings.states, settings.aliased_states, rng)
    reason, example = found.lost, ""
    if not reason and len(found.states) < LEAST_STATES:
        reason = found.dropped.most_common(1)[0][0]
        example = found.examples[reason]
    if reason:
        found = Comparison()
    return [_verdict(block, mode, orders[mode], distinct, found, reason, example) for mode in modes], not reason


def _verdict(
    block: Block,
    mode: str,
    orders: list[Order],
    distinct: list[Order],
    found: Comparison,
    reason: str,
    example: str,
) -> Verdict:
    place = {order: i for i, order in enumerate(distinct)}
    codes = np.array([found.column(place[order]) for order in orders], int).reshape(len(orders), len(found.states))
    bad = codes >= layout.DIFFERENT
    guilty = orders[int(bad.any(1).argmax())] if bad.any() else ()
    known = found.different >= 0 and distinct[found.different] == guilty
    outcome = "not runnable" if reason else "different" if bad.any() else "equal" if orders else "single order"
    return Verdict(
        block_id=block.block_id,
        source=block.source,
        instruction_class=block.instruction_class,
        n_instructions=block.n_instructions,
        dependencies=mode,
        orders_tried=0 if reason else len(orders),
        states=len(found.states),
        aliased_states=found.n_aliased,
        state_runs=codes.size,
        outcome=outcome,
        different=int(bad.sum()),
        reason=reason,
        example=example,
        undefined_flags_differ=int((codes == layout.UNDEFINED_FLAGS).sum()),
        different_order=list(guilty),
        difference=found.difference if known else "",
    )
