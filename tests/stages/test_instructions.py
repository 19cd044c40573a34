"""Blocks, and the instructions after them, as numbers of distinct instructions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from learned_schedulers.blocks.dag.bulk import Builder
from pipeline.corpus.stages import instructions
from pipeline.corpus.tables import BLOCKS, DAGS, ENCODINGS, FOLLOWING, INSTRUCTIONS
from pipeline.lab import tables
from pipeline.lab.stored_blocks import load_store

XOR, MOV, CALL, RET = (bytes.fromhex(code) for code in ("31c0", "4889e5", "e800000000", "c3"))
IDS = ["a", "b", "c"]
CODE = [XOR + MOV, MOV + XOR + XOR, MOV + MOV]
BEHIND = [[CALL, MOV, XOR, RET], [], [RET]]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of tables blocks, dags and following."""
    rows = len(IDS)
    columns = {"block_id": IDS, "masked_code": CODE, "code": CODE, "address": [0] * rows, "relocatable": [False] * rows}
    numbers = {"n_instructions": [2, 3, 2], "occurrences": [1] * rows}
    places = {name: [""] * rows for name in ("source", "program", "compiler", "section")}
    tables.write(pd.DataFrame(columns | numbers | places), BLOCKS, tmp_path / "blocks")
    blocks = tables.arrow(BLOCKS, tmp_path / "blocks", ["block_id", "address", "relocatable", "code"])
    with tables.writing(DAGS, tmp_path / "dags") as append:
        append(Builder("full").build(blocks.combine_chunks()))
    with tables.writing(FOLLOWING, tmp_path / "following") as append:
        append(pa.table([IDS, BEHIND], schema=FOLLOWING.schema))
    return tmp_path


def described(corpus: Path, following: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    instructions.main(corpus / "blocks", following, corpus / "encodings", corpus / "instructions")
    return tables.read(ENCODINGS, corpus / "encodings"), tables.read(INSTRUCTIONS, corpus / "instructions")


def codes(encodings: pd.DataFrame, rows: pd.Series) -> list[list[bytes]]:
    return [encodings.code[row].tolist() for row in rows]


def test_what_follows_is_of_the_same_instructions(corpus: Path) -> None:
    encodings, numbered = described(corpus, corpus / "following")
    assert encodings.code.tolist() == sorted([XOR, MOV, CALL, RET])
    assert [b"".join(block) for block in codes(encodings, numbered.encodings)] == CODE
    assert codes(encodings, numbered.following) == BEHIND
    store = load_store(corpus / "instructions", corpus / "dags")
    number = {code: row for row, code in enumerate(encodings.code)}
    rows = [[number[code] for code in block] + [-1] * (4 - len(block)) for block in BEHIND]
    assert store.following.tolist() == rows
    assert store.as_emitted(store.rows(pa.array(["c", "a"]))).following.tolist() == [rows[2], rows[0]]


def test_what_follows_other_blocks_is_refused(corpus: Path) -> None:
    with tables.writing(FOLLOWING, corpus / "following") as append:
        append(pa.table([IDS[::-1], BEHIND], schema=FOLLOWING.schema))
    with pytest.raises(ValueError, match="following is of other blocks; make it anew"):
        described(corpus, corpus / "following")
