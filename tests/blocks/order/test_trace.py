"""What explains an order: the model's events against llvm-mca's, their causes by hand, and the names of units."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.order import in_order_trace
from learned_schedulers.blocks.order.targets import TARGETS, Target
from learned_schedulers.blocks.order.trace import Cause, Trace, trace
from learned_schedulers.blocks.order.unit_names import UNIT_NAMES, unit_names
from learned_schedulers.blocks.processors import machine, model
from learned_schedulers.blocks.processors.costs import Processor, processor_of
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas, split
from tests.blocks import real
from tests.blocks.order.drawn_processors import orders, plain, processors
from tests.blocks.processors.test_in_order import ALU, DIVIDE, HAND, LOAD, MULTIPLY, Op, costs


@pytest.mark.slow
@given(st.data())
def test_the_chain_adds_up_to_the_makespan_of_the_model(data: st.DataObject) -> None:
    chip = data.draw(processors())
    order = data.draw(orders(chip))
    traced = trace(chip, range(len(order)), order)
    n = len(order)
    makespan = model.makespans(model.costs(chip, np.arange(n)[None]), np.array([[order]]))[0, 0]
    assert traced.makespan == makespan == sum(link.cycles for link in traced.chain) == sum(traced.causes().values())
    assert all(link.cycles >= 0 for link in traced.chain)
    assert [step.instruction for step in traced.steps] == order
    assert all(step.dispatch <= step.issue <= step.end <= step.retire < makespan for step in traced.steps)


@pytest.mark.slow
@given(st.data())
def test_each_event_has_room_and_a_reason(data: st.DataObject) -> None:
    chip = data.draw(processors())
    order = data.draw(orders(chip))
    traced = trace(chip, range(len(order)), order)
    steps = traced.steps
    assert [step.dispatch for step in steps] == sorted(step.dispatch for step in steps)
    for step in steps:
        i, reason = step.instruction, step.reason
        earlier = None if reason.earlier is None else steps[reason.earlier.slot]
        assert step.end == step.issue + chip.latencies[i]
        if reason.cause == Cause.RESULT:
            assert earlier is not None
            assert 0 <= earlier.issue + chip.latencies[earlier.instruction] - step.issue <= chip.read_advance[i]
        elif reason.cause == Cause.UNIT:
            assert earlier is not None and reason.units and earlier.issue < step.issue
        elif reason.cause == Cause.MEMORY:
            assert earlier is not None and chip.memory[i] == 2 and chip.memory[earlier.instruction]
            assert earlier.issue == step.issue
        elif reason.cause == Cause.WRITE_BACK:
            assert earlier is not None and chip.issues_in_order and earlier.end == step.end
        else:
            assert reason.cause in (Cause.ORDER, Cause.PIPELINE, Cause.WIDTH)
    if not traced.in_order:
        retired = [step.retire for step in steps]
        assert retired == sorted(retired) and all(step.retire > step.end for step in steps)
        assert all(retired.count(cycle) <= chip.retire_width for cycle in retired)


def of(ops: list[Op], delays: dict[tuple[int, int], int]) -> Trace:
    return in_order_trace.trace(costs(ops, delays), np.arange(len(ops)))


@pytest.mark.parametrize(("ops", "delays", "issue", "makespan"), [case for case in HAND.values() if case[0]])
def test_in_order_by_hand(ops: list[Op], delays: dict, issue: list[int], makespan: int) -> None:
    traced = of(ops, delays)
    assert ([step.issue for step in traced.steps], traced.makespan) == (issue, makespan)


@pytest.mark.parametrize(
    ("ops", "delays", "cause", "causes"),
    [
        ([MULTIPLY, MULTIPLY], {(0, 1): 5}, Cause.RESULT, {Cause.RESULT: 10, Cause.PIPELINE: 1}),
        ([LOAD, LOAD], {}, Cause.UNIT, {Cause.UNIT: 1, Cause.RESULT: 1, Cause.PIPELINE: 1}),
        ([ALU, DIVIDE], {}, Cause.UNIT, {Cause.UNIT: 1, Cause.RESULT: 130, Cause.PIPELINE: 1}),
        ([MULTIPLY, ALU], {}, Cause.WRITE_BACK, {Cause.RESULT: 5, Cause.PIPELINE: 1}),
        ([Op(), Op(), Op()], {}, Cause.WIDTH, {Cause.WIDTH: 1, Cause.RESULT: 1, Cause.PIPELINE: 1}),
        ([Op(latency=0), Op(latency=0, micro_ops=5)], {}, Cause.ORDER, {Cause.WIDTH: 3}),
    ],
)
def test_causes_by_hand(ops: list[Op], delays: dict, cause: Cause, causes: dict) -> None:
    traced = of(ops, delays)
    assert traced.steps[-1].reason.cause == cause and traced.causes() == causes


@pytest.fixture(scope="module")
def sample() -> list[bytes]:
    codes = real.table()["code"].to_pylist()
    return [codes[k] for k in np.random.default_rng(1).permutation(len(codes))[:100]] + codes[-1:]


def described(codes: list[bytes], name: str, binary: str) -> tuple[Processor, list[list[int]]]:
    """The processor, and the rows of its table of each block."""
    rows: dict[bytes, int] = {}
    blocks = [[rows.setdefault(instruction, len(rows)) for instruction in split(code)] for code in codes]
    return processor_of(machine.read(list(rows), name, Judge(cpu=name, iterations=1), binary)), blocks


@pytest.mark.slow
@pytest.mark.parametrize("name", ["atom", "haswell", "silvermont", "btver2"])
def test_the_events_are_those_of_llvm_mca(name: str, sample: list[bytes], binary: str) -> None:
    """In blocks of which both have the same makespan; the model's other deviations are measured elsewhere."""
    chip, blocks = described(sample, name, binary)
    supported = [k for k, rows in enumerate(blocks) if chip.is_supported[rows].all()]
    options = ["-timeline", "-timeline-max-cycles=0"]
    regions = machine._regions([gas(sample[k]) for k in supported], Judge(cpu=name, iterations=1), binary, options)
    equal = compared = 0
    for k, region in zip(supported, regions, strict=True):
        traced = trace(chip, blocks[k], range(len(blocks[k])))
        if region["SummaryView"]["TotalCycles"] == traced.makespan:
            for step, times in zip(traced.steps, region["TimelineView"]["TimelineInfo"], strict=True):
                names = ("CycleDispatched", "CycleIssued", "CycleExecuted", "CycleRetired")
                equal += tuple(times[name] for name in names) == step[1:5]
                compared += 1
    assert compared > 400 and equal >= 0.99 * compared


def test_what_is_no_order_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[0, 0\] is no order of 2 instructions"):
        trace(plain(2, 0), [0, 1], [0, 0])


@pytest.mark.parametrize("target", TARGETS)
def test_they_are_those_of_llvm_mca(target: Target, binary: str) -> None:
    command = [binary, f"-mcpu={target}", "-mtriple=x86_64-unknown-unknown", "-json"]
    output = subprocess.run(command, input="nop\n", capture_output=True, text=True, check=True).stdout
    names = json.loads(output)["TargetInfo"]["Resources"]
    # LLVM numbers units of one name by a last byte that is not printable.
    assert list(UNIT_NAMES[target]) == ["".join(c if c.isprintable() else str(ord(c)) for c in name) for name in names]


@pytest.mark.parametrize(
    ("target", "units", "text"),
    [
        ("haswell", 0, ""),
        ("haswell", 0b100, "HWPort0"),
        ("haswell", 0b10_1100, "HWPort{0,1,3}"),
        ("haswell", 0b101, "HWDivider, HWPort0"),
        ("znver4", 0b11 << 12 | 1 << 3, "Zn4ALU0, Zn4FP45.{0,1}"),
    ],
)
def test_sets_are_short(target: Target, units: int, text: str) -> None:
    assert unit_names(target, units) == text
