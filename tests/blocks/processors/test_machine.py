"""Properties of instructions in llvm-mca's model of atom, and the in-order model with them, compared with llvm-mca."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from iced_x86 import Decoder, Register, RflagsBits

from learned_schedulers.blocks.dag.resources import FLAGS, LANES, X87, X87_CONTROL, flags
from learned_schedulers.blocks.processors import in_order, llvm_mca, machine
from learned_schedulers.blocks.processors.costs import Processor, processor, processor_of
from learned_schedulers.blocks.processors.machine import Units, units
from learned_schedulers.blocks.processors.registers import register_access
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas
from pipeline.lab import tables
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

ATOM = Judge(cpu="atom", iterations=1)
ADD, LOAD, DIVIDE, MULTIPLY = "4801c3", "488b11", "48f7f6", "f20f59c8"
# Every rule of the model and every quirk of `registers` is in here.
POOL = [
    *(ADD, "0319", "015908"),  # addq %rax, %rbx; addl (%rcx), %ebx; addl %ebx, 8(%rcx)
    *("488d540308", LOAD, "48891424"),  # leaq 8(%rbx,%rax), %rdx; movq (%rcx), %rdx; movq %rdx, (%rsp)
    *("0fafd8", "480fafcb", DIVIDE),  # imull %eax, %ebx; imulq %rbx, %rcx; divq %rsi
    *(MULTIPLY, "f20f5909", "f20f58d1"),  # mulsd %xmm0, %xmm1; mulsd (%rcx), %xmm1; addsd %xmm1, %xmm2
    *("f20f58542408", "660fd40a", "f20f5ec1"),  # addsd 8(%rsp), %xmm2; paddq (%rdx), %xmm1; divsd %xmm1, %xmm0
    *("f20f2ac3", "f2480f2a01", "f20f2cc1"),  # cvtsi2sd %ebx, %xmm0; cvtsi2sdq (%rcx), %xmm0; cvttsd2si %xmm1, %eax
    *("0f101a", "0f57c9", "0f28c1"),  # movups (%rdx), %xmm3; xorps %xmm1, %xmm1; movaps %xmm1, %xmm0
    *("99", "f7fb", "6698", "440fbee0"),  # cltd; idivl %ebx; cbtw; movsbl %al, %r12d
    *("31db", "39c3", "ffc2", "0f92c0"),  # xorl %ebx, %ebx; cmpl %eax, %ebx; incl %edx; setb %al
    *("480f45c3", "0f4411", "1301"),  # cmovneq %rbx, %rax; cmovel (%rcx), %edx; adcl (%rcx), %eax
    *("d3e3", "0fbcd9", "f348ab"),  # shll %cl, %ebx; bsfl %ecx, %ebx; rep stosq
    *("50", "5b", "93"),  # pushq %rax; popq %rbx; xchgl %eax, %ebx
    *("dd01", "dec9", "dfe0", "d92c24"),  # fldl (%rcx); fmulp; fnstsw %ax; fldcw (%rsp)
    *("660f3800c1", "660f2ec8"),  # pshufb %xmm1, %xmm0; ucomisd %xmm0, %xmm1
]


def codes(*texts: str) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


@pytest.fixture(scope="module")
def atom(binary: str) -> pd.DataFrame:
    return machine.read(codes(*POOL), "atom", ATOM, binary)


@pytest.fixture(scope="module")
def chip(atom: pd.DataFrame) -> Processor:
    return processor_of(atom)


def cycles(chip: Processor, numbers: np.ndarray) -> list[int]:
    """Makespans of sequences (S, n), rows of POOL, in their order."""
    size, n = numbers.shape
    orders = np.broadcast_to(np.arange(n), (size, 1, n))
    return in_order.simulate(chip.costs(numbers), orders).makespan[:, 0].tolist()


def simulated(binary: str, numbers: np.ndarray) -> list[float]:
    texts = ["".join(gas(code)) for code in codes(*POOL)]
    simulations = llvm_mca.simulate([[texts[i] for i in row] for row in numbers], ATOM, binary)
    assert {simulation.status for simulation in simulations} == {"ok"}
    return [simulation.cycles for simulation in simulations]


def test_random_sequences_take_the_cycles_of_llvm_mca(binary: str, chip: Processor) -> None:
    numbers = np.random.default_rng(0).integers(0, len(POOL), (500, 12))
    assert cycles(chip, numbers) == simulated(binary, numbers)


def test_what_the_model_says(atom: pd.DataFrame) -> None:
    rows = atom.set_index(atom.code.map(bytes.hex))
    columns = ["micro_ops", "latency", "units", "unit_cycles", "choices", "choice_cycles"]
    assert rows.loc[ADD, columns].tolist() == [1, 1, [], [], [[0, 1]], [1]]
    assert rows.loc[LOAD, columns].tolist() == [1, 1, [0], [1], [], []]
    assert rows.loc[DIVIDE, columns].tolist() == [38, 130, [0, 1], [130, 130], [], []]
    assert rows.loc[MULTIPLY, columns].tolist() == [1, 5, [0], [2], [], []]
    assert set(atom.issue_width) == {2} and set(atom.read_advance) == {3}


def test_unsupported_instructions_keep_their_row(tmp_path: Path, binary: str) -> None:
    strange = codes(ADD, "c5f458d0", "0f", "4801c34801c3", LOAD)  # vaddps %ymm0, %ymm1, %ymm2; half; two
    table = machine.read(strange, "atom", ATOM, binary, batch=2)
    assert table.code.tolist() == strange
    assert table.status.tolist() == ["ok", "unsupported", "unsupported", "unsupported", "ok"]
    for message, expected in zip(table.message, ["", "vaddps", "0f", "2 instructions", ""], strict=True):
        assert expected in message
    assert table.latency.tolist() == [1, 0, 0, 0, 1]
    path = tmp_path / "machine.parquet"
    tables.write(table, MACHINE_INSTRUCTIONS, path)
    chip = processor(tables.arrow(MACHINE_INSTRUCTIONS, path))
    assert chip.costs(np.array([[0, 4]])).unit_cycles.tolist() == [[[0, 0], [1, 0]]]
    with pytest.raises(ValueError, match="instruction 1 of the table is unsupported"):
        chip.costs(np.array([[0, 1]]))


def test_batches_change_nothing(binary: str, atom: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(machine.read(codes(*POOL), "atom", ATOM, binary, threads=2, batch=7), atom)


def test_one_machine_at_a_time(atom: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"one machine is needed, not \['atom', 'other'\]"):
        processor_of(pd.concat([atom, atom.assign(machine="other")]))


@pytest.mark.parametrize(
    ("alone", "shared", "expected"),
    [
        ({}, {}, Units({})),
        ({0: 1}, {0: 1}, Units({0: 1})),
        ({1: 1}, {0: 0.5, 1: 0.5}, Units({}, (0, 1), 1)),
        ({0: 2, 2: 1}, {0: 2, 1: 0.5, 2: 0.5}, Units({0: 2}, (1, 2), 1)),
        ({3: 1}, {1: 0.33, 2: 0.33, 3: 0.33}, Units({}, (1, 2, 3), 1)),
    ],
)
def test_units(alone: dict[int, float], shared: dict[int, float], expected: Units) -> None:
    assert units(alone, shared) == expected


@pytest.mark.parametrize(
    ("alone", "shared"), [({0: 1, 1: 1}, {0: 0.66, 1: 0.66, 2: 0.66}), ({0: 2, 1: 3}, {0: 3.5, 1: 1.5})]
)
def test_open_units_are_no_guess(alone: dict[int, float], shared: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="its units are open"):
        units(alone, shared)


STATUS = FLAGS & ~flags(RflagsBits.DF)
RAX, RBX, RCX, RDX, RDI = (LANES[getattr(Register, name)] for name in ("RAX", "RBX", "RCX", "RDX", "RDI"))
XMM1 = LANES[Register.XMM1]


@pytest.mark.parametrize(
    ("code", "reads", "late", "writes"),
    [
        (ADD, RAX | RBX, 0, RBX | STATUS),
        ("0319", RCX, RBX, RBX | STATUS),  # addl (%rcx), %ebx
        ("0309", RCX, 0, RCX | STATUS),  # addl (%rcx), %ecx: it is the address
        ("31db", RBX, 0, RBX | STATUS),  # xorl %ebx, %ebx
        ("0f57c9", XMM1, 0, XMM1),  # xorps %xmm1, %xmm1
        ("ffc2", RDX, 0, RDX | STATUS),  # incl %edx leaves CF: llvm-mca has one register of flags
        ("d3e3", RBX | LANES[Register.CL], 0, RBX | STATUS),  # shll %cl, %ebx
        ("0fbcd9", RCX, 0, RBX | STATUS),  # bsfl %ecx, %ebx
        ("480f45c3", RAX | RBX | STATUS, 0, RAX),  # cmovneq %rbx, %rax
        ("1301", RCX, RAX | STATUS, RAX | STATUS),  # adcl (%rcx), %eax
        ("99", RAX, 0, RAX | RDX),  # cltd
        ("660fd40a", RDX | XMM1, 0, XMM1),  # paddq (%rdx), %xmm1
        ("f348ab", RAX | RDI | FLAGS & ~STATUS, 0, RDI),  # rep stosq: no rcx
        ("dec9", X87_CONTROL, 0, X87),  # fmulp
        ("d92c24", LANES[Register.RSP], 0, X87 | X87_CONTROL),  # fldcw (%rsp)
    ],
)
def test_registers(code: str, reads: int, late: int, writes: int) -> None:
    assert register_access(Decoder(64, bytes.fromhex(code)).decode()) == (reads, late, writes)
