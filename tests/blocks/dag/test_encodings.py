"""Many blocks at once, compared with the same blocks one instruction at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.bulk import Builder
from learned_schedulers.blocks.dag.conflicts import EXPLICIT, SIZE
from learned_schedulers.blocks.dag.dependencies import block_dag, tabulate
from learned_schedulers.blocks.dag.effects import decode_block, effects, explicit_displacement
from learned_schedulers.blocks.dag.encodings import Encodings
from learned_schedulers.blocks.read import cut
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.program_rows import table_of
from pipeline.corpus.stages import dags
from pipeline.corpus.tables import BLOCKS, DAGS
from pipeline.corpus.unique import first_of_each, groups
from pipeline.lab import tables

TINY = Path(__file__).parents[2] / "tiny"
SHARED = Encodings()


@pytest.fixture(scope="module")
def tiny() -> pa.Table:
    image = read_image((TINY / "tiny1.so").read_bytes(), "GCC", "-")
    return table_of("tiny", "tiny1.so", "gcc", False, list(cut.blocks(image, 2, 64, Forms())))


def check(codes: list[bytes], addresses: list[int], memory: Encodings) -> None:
    offsets = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    encoded = memory.encode(np.frombuffer(b"".join(codes), np.uint8), offsets, np.array(addresses, np.int64))
    n = 0
    for block, (code, address) in enumerate(zip(codes, addresses, strict=True)):
        instructions = decode_block(code, address)
        rows = encoded.encoding[encoded.block_offsets[block] : encoded.block_offsets[block + 1]]
        assert len(rows) == len(instructions)
        for row, instruction in zip(rows.tolist(), instructions, strict=True):
            expected = tabulate([effects(instruction)])
            for field in ("reads", "writes", "kills", "n_accesses", "latency"):
                assert np.array_equal(getattr(encoded.table, field)[row], getattr(expected, field)[0]), (
                    instruction,
                    field,
                )
            count = expected.n_accesses[0]
            assert np.array_equal(encoded.table.accesses[row, :count], expected.accesses[0, :count]), instruction
            # This holds for explicit operands with an address of 64 bits; other operands have no known size.
            if (expected.accesses[0, :count, EXPLICIT] * expected.accesses[0, :count, SIZE]).any():
                assert encoded.displacement[n] == explicit_displacement(instruction), instruction
            n += 1
    assert n == len(encoded.encoding) == len(encoded.displacement)


def test_compiled_blocks(tiny: pa.Table) -> None:
    check(tiny["code"].to_pylist(), tiny["address"].to_pylist(), Encodings())


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("488b05fcffffff", id="rip-relative, backwards"),
        pytest.param("803dfcffffff07", id="rip-relative, an immediate behind"),
        pytest.param("488b45f8", id="8 bits, negative"),
        pytest.param("488b8500ffffff", id="32 bits, negative"),
        pytest.param("8b042534128040", id="absolute, 32 bits"),
        pytest.param("48a18877665544332291", id="absolute, 64 bits"),
        pytest.param("62f17c48284501", id="EVEX: scaled by 64"),
        pytest.param("62f17c482845ff", id="EVEX: scaled, negative"),
        pytest.param("62f17c5858450a", id="EVEX: scaled by the element that is broadcast"),
        pytest.param("50", id="push"),
        pytest.param("d1e0", id="shift by one"),
        pytest.param("c1e000", id="shift by nothing"),
        pytest.param("c1e005", id="shift by five"),
        pytest.param("c4e3714ac230", id="register in place of an immediate"),
        pytest.param("c4e3714ac220", id="another register there"),
        pytest.param("0f0fc8bf", id="3DNow"),
        pytest.param("f348ab", id="string"),
    ],
)
def test_special_encodings(code: str) -> None:
    block = bytes.fromhex(code)
    check([block, block + bytes.fromhex("01d8") + block], [0x401000, 0x7FFFFFFF0000], SHARED)


def test_registers_in_place_of_immediates_are_distinguished() -> None:
    codes = [bytes.fromhex(code) for code in ("c4e3714ac220", "c4e3714ac230")]
    check(codes, [0, 0], SHARED)
    encoded = SHARED.encode(np.frombuffer(b"".join(codes), np.uint8), np.array([0, 6, 12]), np.zeros(2, np.int64))
    assert encoded.encoding[0] != encoded.encoding[1]


def test_constants_share_a_row() -> None:
    codes = [
        bytes.fromhex(code) for code in ("488b45f8", "488b4510", "488b8500010000", "83c001", "83c07f", "0500100000")
    ]
    offsets = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    encoded = SHARED.encode(np.frombuffer(b"".join(codes), np.uint8), offsets, np.zeros(6, np.int64))
    assert len(set(encoded.encoding[:3])) == 1 == len(set(encoded.encoding[3:]))
    assert encoded.displacement.tolist() == [-8, 16, 256, 0, 0, 0]


@settings(max_examples=100)
@given(st.binary(min_size=15, max_size=15), st.integers(0, (1 << 47) - 1))
def test_random_instructions(random_bytes: bytes, address: int) -> None:
    try:
        code = random_bytes[: decode_block(random_bytes)[0].len]
    except ValueError:
        with pytest.raises(ValueError, match="block 0 is not made of whole instructions"):
            SHARED.encode(np.frombuffer(random_bytes, np.uint8), np.array([0, 15]), np.zeros(1, np.int64))
    else:
        check([code], [address], SHARED)


@pytest.mark.parametrize("second", ["06", "01", "488b05"])
def test_blocks_without_whole_instructions_are_refused(second: str) -> None:
    codes = [bytes.fromhex(code) for code in ("01d8", second, "01d8")]
    offsets = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    with pytest.raises(ValueError, match=f"block 1 is not made of whole instructions: {second}"):
        Encodings().encode(np.frombuffer(b"".join(codes), np.uint8), offsets, np.zeros(3, np.int64))


@pytest.mark.parametrize("mode", ["full", "conservative", "paper"])
def test_rows_of_the_table(tiny: pa.Table, mode: str) -> None:
    table = Builder(mode).build(tiny)
    assert table.schema.equals(DAGS.schema)
    assert table["block_id"].to_pylist() == tiny["block_id"].to_pylist()
    for row, block in zip(table.to_pylist(), tiny.to_pylist(), strict=True):
        dag = block_dag(block["code"], mode, block["address"], not block["relocatable"])
        assert row["n_instructions"] == dag.n == len(row["latencies"])
        for prefix, edges in (("", dag.edges), ("implied_", dag.implied)):
            columns = (row[f"{prefix}{name}"] for name in ("before", "after", "kinds"))
            assert list(zip(*columns, strict=True)) == [(before, after, int(kind)) for before, after, kind in edges]


def test_batches_change_nothing(tiny: pa.Table) -> None:
    whole, builder = Builder("full").build(tiny), Builder("full")
    parts = [builder.build(tiny.slice(start, 100)) for start in reversed(range(0, tiny.num_rows, 100))]
    assert pa.concat_tables(parts[::-1]).equals(whole)
    assert builder.build(tiny.slice(0, 0)).num_rows == 0


def test_the_number_of_cores_changes_nothing(tiny: pa.Table, tmp_path: Path) -> None:
    with tables.writing(BLOCKS, tmp_path / "blocks") as append:
        for group in groups(first_of_each(tiny)):
            append(group)
    for cores in (1, 3):
        dags.main("full", tmp_path / "blocks", tmp_path / str(cores), cores)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()
    assert tables.read(DAGS, tmp_path / "1")["block_id"].tolist() == sorted(tiny["block_id"].to_pylist())


def test_object_files_keep_their_memory_in_order() -> None:
    # mov [rip+0], eax; mov ebx, [rip+8]: they are disjoint if the addresses are known, else they may overlap.
    code = bytes.fromhex("890500000000") + bytes.fromhex("8b1d08000000")
    columns = {"block_id": ["a", "b"], "address": pa.array([0, 0], pa.uint64()), "relocatable": [False, True]}
    table = Builder("full").build(pa.table({**columns, "code": pa.array([code, code], pa.binary())}))
    assert table["before"].to_pylist() == [[], [0]]
    assert table["n_legal_orders"].to_pylist() == [2.0, 1.0]
