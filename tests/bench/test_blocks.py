"""Frozen blocks are what GCC made, methods do not see its order, and no cost is below the bound."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from learned_schedulers.bench.blocks import PROCESSORS, BlockInstance
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import instances
from learned_schedulers.bench.peers import entrant
from learned_schedulers.bench.running import of_method, run
from learned_schedulers.blocks.dag.dependencies import block_dag
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.processors import llvm_mca, model
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas


def blocks(of_set: str = "blocks_unseen") -> list[BlockInstance]:
    return [instance for instance in instances(of_set) if isinstance(instance, BlockInstance)]


def code_of(block: BlockInstance) -> bytes:
    """The machine code in GCC's order, from what a method sees and the label."""
    return b"".join(block.instructions.codes[row] for row in block.problems.instructions[0][block.label[0]])


def test_the_label_is_the_order_of_the_machine_code() -> None:
    for block in blocks():
        assert hashlib.sha256(code_of(block)).hexdigest() == block.graph_id
        assert not count_violations(block.problems.precedes, block.label.astype(np.int16)).any()


def test_methods_do_not_see_the_order() -> None:
    shown = [block for block in blocks() if (block.label[0] != np.arange(len(block))).any()]
    assert len(shown) > 0.95 * len(blocks()), "the drawn order is GCC's by chance"
    for block in blocks():
        assert not count_violations(block.problems.precedes, np.arange(len(block), dtype=np.int16)[None]).any()


def test_dependencies_are_those_of_the_block() -> None:
    """By the other way from machine code to a DAG, which reads one block at a time."""
    for block in blocks("blocks_development") + blocks():
        edges = {(before, after) for before, after, _ in block_dag(code_of(block), "full").edges}
        in_gcc_order = block.problems.precedes[0][np.ix_(block.label[0], block.label[0])]
        assert edges == {(int(before), int(after)) for before, after in np.argwhere(in_gcc_order)}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["haswell", "atom"])
def test_orders_cost_no_less_than_the_bound(target: str) -> None:
    few = blocks()[::12]
    bounds = np.array([block.bound(target) for block in few])
    for name in ("gcc", "list_scheduling", "random_legal"):
        result = run(of_method(entrant(name, "blocks_unseen"), Limit("evaluations", 10)), few, target, [0])
        assert not result.failures and (result.array[0] >= bounds).all()
        if name == "gcc":
            expected = [model.makespans(block.costs(target), block.label[:, None])[0, 0] for block in few]
            assert result.costs[0] == expected


@pytest.mark.parametrize("target", PROCESSORS)
def test_the_judge_agrees_with_llvm_mca(target: str, binary: str) -> None:
    """On GCC's order and on the order that is shown, of every fourth block."""
    regions, modelled = [], []
    for block in blocks()[::4]:
        orders = np.stack([block.label[0], np.arange(len(block))])
        modelled += model.makespans(block.costs(target), orders[None])[0].tolist()
        for order in orders:
            codes = [block.instructions.codes[row] for row in block.problems.instructions[0][order]]
            regions.append(gas(b"".join(codes)))
    simulations = llvm_mca.simulate(regions, Judge(cpu=target, iterations=1), binary)
    assert np.mean([each.cycles == cycles for each, cycles in zip(simulations, modelled, strict=True)]) > 0.97


def test_all_processors_know_all_instructions() -> None:
    for of_set in ("blocks_development", "blocks_unseen"):
        instructions = blocks(of_set)[0].instructions
        assert all(instructions.on(target).is_supported.all() for target in PROCESSORS)
