"""Blocks that a user types become the same arrays as blocks of tables."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from pipeline.blocks.corpus.distinct import distinct_instructions
from pipeline.blocks.dag.bulk import Builder
from pipeline.blocks.problems.instructions import encoded, tabulate
from pipeline.blocks.problems.reader import Reader
from pipeline.blocks.problems.store import Edges, numbered, of_tables
from tests.blocks import real


def assert_same(first: object, second: object) -> None:
    names = first._fields if isinstance(first, Edges) else [field.name for field in fields(first)]  # type: ignore[arg-type]
    for name in names:
        a, b = getattr(first, name), getattr(second, name)
        if isinstance(a, Edges):
            assert_same(a, b)
        elif name != "block_ids":
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_what_is_seen_is_what_the_tables_hold() -> None:
    masked = pa.array(real.table()["masked_code"].to_pylist()[::5], pa.binary())
    ids = pa.array(map(str, range(len(masked))))
    unknown = {"address": pa.array(np.zeros(len(ids), np.uint64)), "relocatable": pa.array(np.ones(len(ids), bool))}
    distinct, numbers = distinct_instructions(masked)
    dags = Builder("full").build(pa.table({"block_id": ids, **unknown, "code": masked}))
    reader, codes = Reader("full"), masked.to_pylist()
    for codes_before in ([], codes[::-1], codes):  # blocks that were read before change nothing
        if codes_before:
            reader.blocks(codes_before)
        store, encodings = reader.blocks(codes)
        assert_same(store, of_tables(numbered(ids, numbers), dags))
        assert_same(encodings, encoded(tabulate(distinct)))
    assert len(store.block_ids) == len(codes)


@pytest.mark.parametrize(
    ("code", "whole", "straight"),
    [
        ("4889d8", True, True),
        ("4889", False, True),  # cut off
        ("06", False, True),  # no instruction of 64-bit code
        ("c3", True, False),  # ret
        ("90c390", True, False),
        ("", True, True),
    ],
)
def test_what_is_no_block_is_told(code: str, whole: bool, straight: bool) -> None:
    read = Reader("full").decode([bytes.fromhex("90"), bytes.fromhex(code), bytes.fromhex("4889d8")])
    assert read.whole.tolist() == [True, whole, True]
    assert read.straight.tolist() == [True, straight, True]
