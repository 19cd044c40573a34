"""Costs by classes are llvm-mca's description of each instruction; unknown classes without llvm-mca are unsupported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder

from learned_schedulers.blocks.processors import class_table, llvm_mca, machine
from learned_schedulers.blocks.processors.chips import Chip
from learned_schedulers.blocks.processors.class_table import CLASSES, ClassTable
from learned_schedulers.blocks.processors.costs import Processor, processor_of
from learned_schedulers.blocks.processors.instruction_classes import class_of
from learned_schedulers.blocks.processors.llvm_mca import LlvmMcaError
from learned_schedulers.blocks.processors.settings import Judge
from tests.blocks.processors.test_machine import POOL

PROCESSORS = ["atom", "btver2", "haswell", "silvermont", "skylake", "znver4"]
# With registers that no class's instruction has, addresses of all forms, and instructions that some models lack.
CODES = [
    bytes.fromhex(code)
    for code in (
        *POOL,
        *("4d01ee", "458b7c2440", "41017d00", "4c8b0d00000000", "644c8b042528000000", "4a8b04fd00000000"),
        *("4d31ff", "4531d2", "4983c5ff", "49f7e6", "41f7f9", "49d3e3", "41c1e607", "4d0fafdb", "4f8d7c7d08"),
        *("450f57ff", "66450fefff", "f2440f59f8", "66450fd47c2410", "f2450f58c0", "440f28fe", "66440f6e3c24"),
        *("4183d600", "4183d601", "4087ec", "4991", "4d0fb11c24", "88e3", "00f7", "0fb6df", "66894d02", "410f94c5"),
        *("c4416058c7", "c4c17d6f4500", "c4627db8fa", "c4428bf7dd", "62a17c4058e2"),
        *("4d8d6d08", "450f11fd", "428b3c6d00000000"),
        *("d9c3", "dec3", "d9ee", "f3450fb8fb", "f3a4", "99", "c5f877", "0fc8"),
    )
]
PORT = bytes.fromhex("e410")  # inb $16, %al: of a class that is not shipped


@pytest.fixture(scope="module")
def haswell() -> Chip:
    return Chip("haswell")


def rows_of(chip: Processor) -> np.ndarray:
    """All that a processor knows of each of its U instructions, (U, F) int64: comparable between processors."""

    def widened(columns: np.ndarray, width: int) -> np.ndarray:
        return np.pad(columns, ((0, 0), (0, width - columns.shape[1])))

    choices = np.r_[chip.groups, 0][chip.choices]  # index -1 reads the appended 0
    columns = (
        *(chip.is_supported, chip.micro_ops, chip.latencies, chip.read_advance, chip.memory),
        *(widened(chip.unit_cycles, 64), widened(choices, 16), widened(chip.choice_cycles, 16)),
        *(chip.pool_entries, chip.buffer_entries, *(words.view(np.int64) for words in chip.registers)),
    )
    return np.column_stack(columns)


def equal(first: Processor, second: Processor) -> bool:
    return np.array_equal(rows_of(first), rows_of(second))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSORS)
def test_rows_are_those_of_llvm_mca(binary: str, name: str) -> None:
    codes = [*CODES, *ClassTable(name).witnesses()]
    frame = machine.read(codes, name, Judge(cpu=name, iterations=1), binary)
    # Some entries of pools are negative numbers that llvm-mca prints as unsigned ones: see `table_of`.
    pairs = zip(frame.kept, frame.micro_ops, strict=True)
    frame["kept"] = [[n_micro_ops if entries >= 1 << 31 else entries for entries in row] for row, n_micro_ops in pairs]
    expected = processor_of(frame)
    chip = Chip(name).processor(codes)
    assert (chip.issue_width, chip.retire_width) == (expected.issue_width, expected.retire_width)
    assert chip.pools.tolist() == expected.pools.tolist() and chip.buffers.tolist() == expected.buffers.tolist()
    differing = np.flatnonzero((rows_of(chip) != rows_of(expected)).any(1))
    assert not [codes[k].hex() for k in differing]
    assert expected.is_supported.sum() > 70


@given(st.lists(st.sampled_from(CODES), max_size=30), st.integers(0, 30))
def test_instructions_that_come_in_parts(codes: list[bytes], size: int) -> None:
    chip = Chip("znver4")
    chip.extend(codes[:size])
    first = chip.chip
    rows = rows_of(first)
    chip.extend(codes[size:])
    whole = chip.processor(codes)
    assert equal(chip.chip, whole) and len(whole.micro_ops) == len(codes)
    assert np.array_equal(rows_of(first), rows)


def test_a_class_has_the_same_row_in_every_process(haswell: Chip) -> None:
    """Which instruction of a class comes first does not matter."""
    forward, backward = Chip("haswell").processor(CODES), Chip("haswell").processor(CODES[::-1])
    assert np.array_equal(rows_of(forward), rows_of(backward)[::-1])
    assert equal(forward, haswell.processor(CODES))


def test_without_llvm_mca_an_unknown_class_is_unsupported() -> None:
    chip = Chip("skylake")
    chip.extend([CODES[0], PORT, CODES[1]])
    assert chip.chip.is_supported.tolist() == [True, False, True]
    assert not rows_of(chip.chip)[1].any()
    assert chip.reason(CODES[0]) == ""
    assert chip.reason(PORT).startswith("its costs are not shipped") and llvm_mca.INSTALL in chip.reason(PORT)
    with pytest.raises(ValueError, match="instruction 1 of the table is unsupported"):
        chip.chip.costs(np.array([[0, 1]]))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("f3480fbcc8", "480fbcc8"),  # rep bsf rcx, rax
        ("f3440fbc4c8810", "440fbc4c8810"),  # with memory
        ("66f3410fbcc9", "66410fbcc9"),
        ("f3480fbdc8", "480fbdc8"),  # rep bsr
    ],
)
def test_an_older_processor_executes_bsf_for_tzcnt(newer: str, older: str) -> None:
    atom = Chip("atom")
    pair = atom.processor([bytes.fromhex(newer), bytes.fromhex(older)])
    rows = rows_of(pair)
    assert pair.is_supported.all() and (rows[0] == rows[1]).all() and not atom.reason(bytes.fromhex(newer))
    assert not atom.processor([bytes.fromhex("f30fb8c8")]).is_supported.any()  # popcnt, which is another opcode


@pytest.mark.parametrize("name", PROCESSORS)
def test_hints_of_lock_elision_cost_nothing(name: str) -> None:
    for hinted, plain in (("f2f00107", "f00107"), ("f3f00107", "f00107"), ("f28707", "8707"), ("f38907", "8907")):
        rows = rows_of(Chip(name).processor([bytes.fromhex(hinted), bytes.fromhex(plain)]))
        assert rows[0].any() and (rows[0] == rows[1]).all()


@pytest.mark.parametrize("code", ["", "0f", "06", "4801c34801c3"])
def test_bytes_that_are_not_one_instruction_are_unsupported(haswell: Chip, code: str) -> None:
    chip = haswell.processor([bytes.fromhex(code), CODES[0]])
    assert chip.is_supported.tolist() == [False, True]
    assert haswell.reason(bytes.fromhex(code))


def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no processor is named 'pentium'; there are atom, btver2, haswell"):
        Chip("pentium")


def with_few_classes(folder: Path, name: str, codes: list[bytes]) -> None:
    """Ship the classes of a few instructions alone."""
    table = ClassTable(name)
    shipped = sorted({class_of(Decoder(64, code).decode()).code for code in codes})
    rows = table.rows(shipped)
    costs = table.costs.restricted_to(np.array(rows))
    used = np.unique(costs.choices[costs.choices >= 0])
    numbers = np.full(len(costs.groups) + 1, -1, np.int32)
    numbers[used] = np.arange(len(used))
    width = max(np.flatnonzero(costs.unit_cycles.any(0))[-1] + 1, int(costs.groups[used].max()).bit_length())
    narrow = replace(
        costs,
        groups=costs.groups[used],
        choices=numbers[costs.choices],
        unit_cycles=costs.unit_cycles[:, :width],
    )
    class_table.write_costs(folder / f"{name}.npz", narrow, [""] * len(rows))
    class_table.write_classes(folder / f"{CLASSES}.npz", shipped, {name: np.arange(len(rows), dtype=np.int32)})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["atom", "silvermont"])
def test_llvm_mca_is_asked_for_new_classes(
    binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """New rows have more units and more groups than the first ones, and groups get other numbers."""
    with_few_classes(tmp_path, name, CODES[:12])
    monkeypatch.setattr(class_table, "SHIPPED", tmp_path)
    chip = Chip(name, binary)
    chip.extend(CODES[:12])
    narrow = chip.chip
    assert chip.processor([PORT]).is_supported.tolist() == [True]  # it is asked between the parts
    chip.extend(CODES[12:])
    assert not chip.reason(PORT)
    expected = processor_of(machine.read([*CODES, PORT], name, Judge(cpu=name, iterations=1), binary))
    assert equal(chip.chip, expected.restricted_to(np.arange(len(CODES))))
    assert equal(chip.processor([PORT]), expected.restricted_to(np.array([len(CODES)])))
    assert equal(narrow, expected.restricted_to(np.arange(12)))


def test_another_llvm_is_refused(binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_few_classes(tmp_path, "skylake", CODES[:12])
    costs = replace(ClassTable("skylake").costs, pools=np.array([1], np.int32))
    class_table.write_costs(tmp_path / "skylake.npz", costs, [""] * len(costs.micro_ops))
    monkeypatch.setattr(class_table, "SHIPPED", tmp_path)
    chip = Chip("skylake", binary)
    with pytest.raises(LlvmMcaError, match="install LLVM 19"):
        chip.extend(CODES)
    assert not len(chip.chip.micro_ops)
    with pytest.raises(LlvmMcaError, match="install LLVM 19"):  # nothing of the failed call is left
        chip.extend(CODES)
