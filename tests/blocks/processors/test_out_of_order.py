"""The out-of-order pipeline on small examples, and compared with llvm-mca on random sequences."""

from __future__ import annotations

import numpy as np
import pytest
from iced_x86 import Decoder

from learned_schedulers.blocks.processors import llvm_mca, machine, model, out_of_order, packing
from learned_schedulers.blocks.processors.costs import Processor, processor
from learned_schedulers.blocks.processors.decomposition import candidates, uses
from learned_schedulers.blocks.processors.operands import advance
from learned_schedulers.blocks.processors.registers import double_reads
from learned_schedulers.blocks.processors.renaming import RegisterWords, renamed
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas
from pipeline.lab import tables
from pipeline.processors.tables import MACHINE_INSTRUCTIONS
from tests.blocks.processors.test_machine import POOL

# Memory barriers, moves that renaming may remove, and x87 instructions are not in the model.
MODELLED = [code for code in POOL if code not in {"f348ab", "dd01", "dec9", "dfe0", "d92c24", "93", "0f28c1"}]
MACHINES = {"haswell": 0.99, "silvermont": 0.99, "btver2": 0.97}  # share of equal cycles, at least


def settings(name: str) -> Judge:
    return Judge(cpu=name, iterations=1)


@pytest.fixture(scope="module", params=MACHINES)
def chip(
    request: pytest.FixtureRequest, binary: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Processor]:
    """A machine's name, and the processor of its table, written and read."""
    name = request.param
    path = tmp_path_factory.mktemp(name) / "machine.parquet"
    table = machine.read([bytes.fromhex(code) for code in MODELLED], name, settings(name), binary)
    tables.write(table, MACHINE_INSTRUCTIONS, path)
    return name, processor(tables.arrow(MACHINE_INSTRUCTIONS, path))


def test_random_sequences_take_the_cycles_of_llvm_mca(binary: str, chip: tuple[str, Processor]) -> None:
    name, known_processor = chip
    numbers = np.random.default_rng(0).integers(0, len(MODELLED), (300, 12))
    texts = ["".join(gas(bytes.fromhex(code))) for code in MODELLED]
    simulations = llvm_mca.simulate([[texts[i] for i in row] for row in numbers], settings(name), binary)
    costs = model.costs(known_processor, numbers)
    modelled = model.makespans(costs, np.broadcast_to(np.arange(12), (300, 1, 12)))[:, 0]
    assert not known_processor.issues_in_order
    assert np.mean(modelled == [simulation.cycles for simulation in simulations]) >= MACHINES[name]


def costs(latencies: list[int], reads: list[tuple[int, int]], units: list[int], retire_width: int = 4) -> packing.Costs:
    """One block: instruction i writes register i; reads: (reader, read); units: unit that it occupies for a cycle."""
    n = len(latencies)
    sources = np.full((1, n, n), -1, np.int8)
    for i in range(n):
        registers = [read for reader, read in reads if reader == i]
        sources[0, i, : len(registers)] = registers
    unit_cycles = np.zeros((1, n, 2), np.int32)
    unit_cycles[0, np.arange(n), units] = 1
    facts = packing.Facts(
        micro_ops=np.ones((1, n), np.int32),
        latencies=np.array([latencies], np.int32),
        unit_cycles=unit_cycles,
        choices=np.full((1, n, 1), -1, np.int32),
        choice_cycles=np.zeros((1, n, 1), np.int32),
        sources=sources,
        is_late=np.zeros(sources.shape, bool),
        counts=np.ones(sources.shape, np.int8),
        targets=np.arange(n, dtype=np.int8).reshape(1, n, 1),
        advances=np.zeros((1, n), np.int32),
        memory=np.zeros((1, n), np.int8),
        pool_entries=np.ones((1, n, 1), np.int32),
        buffer_entries=np.zeros((1, n, 0), np.int32),
    )
    return packing.pack(facts, np.zeros(0, np.int64), np.array([8]), np.zeros(0, np.int64), 2, retire_width)


@pytest.mark.parametrize(
    ("block", "makespan"),
    [
        (costs([1], [], [0]), 4),  # dispatch, issue, result, retirement
        (costs([1, 1], [(1, 0)], [0, 1]), 5),
        (costs([1, 1], [], [0, 0]), 5),  # one unit
        (costs([1, 1, 1], [], [0, 1, 0]), 5),  # two dispatch in a cycle
        (costs([9, 1, 1], [(1, 0)], [0, 0, 1]), 13),  # the third goes before the second
        (costs([9, 1, 1], [], [0, 1, 1], retire_width=1), 14),  # retirement is in order, one a cycle
    ],
)
def test_by_hand(block: packing.Costs, makespan: int) -> None:
    n = block.instructions.shape[1]
    assert out_of_order.simulate(block, np.arange(n).reshape(1, 1, n)).tolist() == [[makespan]]


@pytest.mark.parametrize("order", [[0, 0], [0, 2], [-1, 0]])
def test_no_permutation(order: list[int]) -> None:
    with pytest.raises(ValueError, match="block 0 has an order that is not a permutation"):
        out_of_order.simulate(costs([1, 1], [], [0, 1]), np.array([[order]]))


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 1, 3\) for 1 blocks of 2"):
        out_of_order.simulate(costs([1, 1], [], [0, 1]), np.zeros((1, 1, 3), np.int16))


def test_units_of_several_groups() -> None:
    """addl %ebx, 8(%rcx) on haswell: a store's data and address, a load and an addition."""
    shared = {2: 0.25, 3: 0.25, 4: 1 / 2 + 1 / 3, 5: 1 / 2 + 1 / 3, 6: 1, 7: 0.25, 8: 0.25, 9: 1 / 3}
    groups = [(4, 5), (4, 5, 9), (2, 3, 7, 8)]
    decomposed = uses({4: 1, 6: 1, 7: 1, 9: 1}, shared, groups)
    assert decomposed == [((6,), 1), ((4, 5), 1), ((4, 5, 9), 1), ((2, 3, 7, 8), 1)]
    assert uses({0: 1}, {0: 0.7, 1: 0.3}, groups) is None


def test_groups_that_never_stand_alone() -> None:
    readings = [({1: 1, 3: 1}, {0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5}), ({3: 1, 5: 1}, {2: 0.5, 3: 0.5, 4: 0.5, 5: 0.5})]
    groups = candidates([], readings)
    assert {(0, 1), (2, 3), (4, 5)} <= groups
    assert uses(*readings[0], groups) == [((0, 1), 1), ((2, 3), 1)]


def test_advances() -> None:
    producer = {"CycleDispatched": 0, "CycleIssued": 1, "CycleExecuted": 10}
    for ready, expected in [(10, 0), (5, 5), (16, -6), (0, None)]:
        assert advance([producer, {"CycleDispatched": 0, "CycleReady": ready}]) == expected


def test_registers_of_a_block() -> None:
    """Resources of the same instructions are one register; a resource that is not both read and written is none."""
    reads, late, writes, double = np.zeros((4, 1, 3, 3), np.uint64)
    writes[0, 0, 0], reads[0, 1, 0], double[0, 1, 0] = 0b1111, 0b0111, 0b0111
    late[0, 2, 0], writes[0, 1, 1] = 0b0100, 1
    registers = renamed(RegisterWords(reads, late, writes, double))
    assert registers.sources.tolist() == [[[-1, -1], [0, 1], [1, -1]]]
    assert registers.is_late[0, 1].tolist() == [False, False] and registers.is_late[0, 2, 0]
    assert registers.counts[0, 1].tolist() == [2, 2]
    assert registers.targets.tolist() == [[[0, 1], [-1, -1], [-1, -1]]]


@pytest.mark.parametrize(("code", "twice"), [("85d2", True), ("4801c0", True), ("4801c3", False), ("488d0400", True)])
def test_double_reads(code: str, twice: bool) -> None:
    """testl %edx, %edx; addq %rax, %rax; addq %rax, %rbx; leaq (%rax,%rax), %rax"""
    assert bool(double_reads(Decoder(64, bytes.fromhex(code)).decode())) == twice
