"""Test whether the legal orders of a DAG lead to the same final state as the original order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.dag.dependencies import block_dag
from learned_schedulers.blocks.dag.settings import Dependencies
from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.comparison import Comparison, compare
from learned_schedulers.blocks.run.executable import NotRunnable, Program, prepare
from learned_schedulers.blocks.run.legal_orders import Order, draw
from learned_schedulers.blocks.run.oracle import Executor
from learned_schedulers.blocks.run.roles import Roles, roles
from learned_schedulers.blocks.run.verification_settings import Verification

LEAST_STATES = 3  # minimum number of states from which a block must run


@dataclass(frozen=True)
class Block:
    """The columns of a row of table `blocks` that are needed to run it."""

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
    orders_tried: int  # not counting the original
    states: int  # number of states from which the original order ran
    aliased_states: int  # number of them in which pointers alias
    state_runs: int  # orders_tried * states, not counting the original order
    outcome: str  # equal | different | single order | not runnable
    different: int  # number of state-runs
    reason: str  # why it is not runnable
    example: str  # the instruction to blame
    undefined_flags_differ: int  # state-runs that differ only in flags that are undefined at the end
    different_order: list[int]
    difference: str  # description of the difference


def generator(seed: int, block: Block) -> np.random.Generator:
    """A generator for the block, which does not depend on the process that runs it."""
    return np.random.default_rng([seed, int(block.block_id[:16], 16)])


def runnable(block: Block) -> tuple[Program, Roles]:
    """The prepared program and its roles. Raises NotRunnable with the reason."""
    program = prepare(block.code, block.address)
    return program, roles(program)


def verify(
    executor: Executor, block: Block, modes: Sequence[Dependencies], settings: Verification
) -> tuple[list[Verdict], bool]:
    """One verdict per mode of dependencies. An order that is legal in several modes runs once.

    Returns also whether the block ran from enough states.
    """
    rng = generator(settings.seed, block)
    try:
        program, block_roles = runnable(block)
    except NotRunnable as error:
        reason_and_example = (error.reason, error.example)
        return [_verdict(block, mode, [], [], Comparison(), *reason_and_example) for mode in modes], False
    dags = {mode: block_dag(block.code, mode, block.address, block.addresses_known) for mode in modes}
    orders = {mode: draw(dag.predecessors(), settings.orders, rng) for mode, dag in dags.items()}
    original: Order = tuple(range(block.n_instructions))
    distinct = list(dict.fromkeys([original, *(order for drawn in orders.values() for order in drawn)]))
    comparison = compare(executor, program, block_roles, distinct, settings.states, settings.aliased_states, rng)
    reason, example = comparison.lost, ""
    if not reason and len(comparison.states) < LEAST_STATES:
        reason = comparison.dropped.most_common(1)[0][0]
        example = comparison.examples[reason]
    if reason:
        comparison = Comparison()
    return [_verdict(block, mode, orders[mode], distinct, comparison, reason, example) for mode in modes], not reason


def _verdict(
    block: Block,
    mode: str,
    orders: list[Order],
    distinct: list[Order],
    comparison: Comparison,
    reason: str,
    example: str,
) -> Verdict:
    index_of = {order: i for i, order in enumerate(distinct)}
    codes = np.array([comparison.column(index_of[order]) for order in orders], int).reshape(
        len(orders), len(comparison.states)
    )
    differs = codes >= layout.DIFFERENT
    differing_order = orders[int(differs.any(1).argmax())] if differs.any() else ()
    is_described = comparison.different >= 0 and distinct[comparison.different] == differing_order
    outcome = "not runnable" if reason else "different" if differs.any() else "equal" if orders else "single order"
    return Verdict(
        block_id=block.block_id,
        source=block.source,
        instruction_class=block.instruction_class,
        n_instructions=block.n_instructions,
        dependencies=mode,
        orders_tried=0 if reason else len(orders),
        states=len(comparison.states),
        aliased_states=comparison.n_aliased,
        state_runs=codes.size,
        outcome=outcome,
        different=int(differs.sum()),
        reason=reason,
        example=example,
        undefined_flags_differ=int((codes == layout.UNDEFINED_FLAGS).sum()),
        different_order=list(differing_order),
        difference=comparison.difference if is_described else "",
    )
