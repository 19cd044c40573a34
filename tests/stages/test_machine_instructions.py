from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from learned_schedulers.blocks.problems.instructions import tabulate
from pipeline.corpus.tables import ENCODINGS, INSTRUCTIONS, SETS
from pipeline.lab import tables
from pipeline.lab.stored_blocks import numbered
from pipeline.processors.stages import machine_instructions
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

CODES = [bytes.fromhex(code) for code in ("4801c3", "48f7f6", "c5f458d0")]  # addq; divq; vaddps: not in atom
SETTINGS = '{"cpu": "atom", "iterations": 100}'


@pytest.fixture
def encodings(tmp_path: Path) -> Path:
    path = tmp_path / "encodings.parquet"
    tables.write(tabulate(CODES), ENCODINGS, path)
    return path


def test_a_row_for_every_encoding(
    encodings: Path, tmp_path: Path, binary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "atom.parquet"
    machine_instructions.main("atom", SETTINGS, encodings, out, threads=2)
    table = tables.read(MACHINE_INSTRUCTIONS, out)
    assert table.code.tolist() == CODES
    assert table.latency.tolist() == [1, 130, 0]
    assert table.status.tolist() == ["ok", "ok", "unsupported"]
    messages = capsys.readouterr().err
    assert (
        "3 instructions, 1 of them unsupported" in messages
        and "1 instructions unsupported: found an unsupported" in messages
    )


def test_only_instructions_of_the_sets_are_asked_for(encodings: Path, tmp_path: Path, binary: str) -> None:
    """The three blocks consist of one instruction each; the sets have the first two blocks."""
    ids, numbers = pa.array(["a", "b", "c"]), pa.array([[0], [1, 0], [2]], pa.list_(pa.int32()))
    with tables.writing(INSTRUCTIONS, tmp_path / "blocks.parquet") as append:
        append(numbered(ids, numbers))
    for block in "ab":
        chosen = pd.DataFrame({"block_id": [block], "input_order": [[0]]})
        tables.write(chosen, SETS, tmp_path / f"{block}.parquet")
    sets = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    out = tmp_path / "atom.parquet"
    machine_instructions.main("atom", SETTINGS, encodings, out, str(tmp_path / "blocks.parquet"), sets)
    table = tables.read(MACHINE_INSTRUCTIONS, out)
    assert table.code.tolist() == CODES
    assert table.latency.tolist() == [1, 130, 0]
    assert table.status.tolist() == ["ok", "ok", "unsupported"]
    assert table.message[2].startswith("not asked for")
    machine_instructions.main("atom", SETTINGS, encodings, out, str(tmp_path / "blocks.parquet"), sets[:1])
    assert tables.read(MACHINE_INSTRUCTIONS, out).status.tolist() == ["ok", "unsupported", "unsupported"]
