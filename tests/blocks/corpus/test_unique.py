"""Blocks that are equal after masking, within a program, a shard and the corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import tables
from pipeline.blocks.corpus import cut
from pipeline.blocks.corpus.elf import read_image
from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.corpus.merge import merged
from pipeline.blocks.corpus.program_rows import table_of
from pipeline.blocks.corpus.unique import GROUPS, first_of_each, groups, joined

BuildElf = Callable[..., bytes]
ADD = bytes.fromhex("01d8")  # add eax, ebx
MOV = bytes.fromhex("89d1")  # mov ecx, edx
LOAD, ELSEWHERE = bytes.fromhex("488b0544332211"), bytes.fromhex("488b0588776655")  # differ in the displacement
RET = b"\xc3"


def table(elf: bytes, program: str = "program") -> pa.Table:
    image = read_image(elf, r"4\.9", r"4\.4")
    return table_of("mine", program, "gcc", image.relocatable, list(cut.blocks(image, 1, 64, Forms())))


def write(runs: list[pa.Table], path: Path) -> Path:
    with tables.writing("blocks", path) as append:
        for run in runs:
            for group in groups(first_of_each(run)):
                append(group)
    return path


def corpus(shards: list[list[pa.Table]], folder: Path) -> pd.DataFrame:
    paths = [write(runs, folder / f"{number}.parquet") for number, runs in enumerate(shards)]
    return pa.concat_tables(merged(paths)).to_pandas()


def test_the_first_of_equal_blocks_of_one_program_stays(build_elf: BuildElf) -> None:
    code = LOAD + ADD + RET + MOV + RET + ELSEWHERE + ADD + RET
    frame = table(build_elf(code, address=0x1000)).to_pandas()
    assert frame["code"].tolist() == [LOAD + ADD, MOV]
    assert frame["masked_code"].tolist() == [bytes.fromhex("488b050000000001d8"), MOV]
    assert frame["address"].tolist() == [0x1000, 0x100A]
    assert frame["occurrences"].tolist() == [2, 1]
    assert frame["n_instructions"].tolist() == [2, 1]
    assert frame["block_id"].tolist() == [
        hashlib.blake2b(code, digest_size=16).hexdigest() for code in frame["masked_code"]
    ]


def test_sections_of_an_object_file(build_elf: BuildElf) -> None:
    frame = table(build_elf(ADD + RET, kind="rel", more=MOV + RET + ADD + RET)).to_pandas()
    rows = frame[["section", "address", "code", "occurrences", "relocatable"]]
    assert list(rows.itertuples(index=False, name=None)) == [
        (".text", 0, ADD, 2, True),
        (".text.more", 0, MOV, 1, True),
    ]


def test_the_block_of_the_first_program_by_name_stays(build_elf: BuildElf, tmp_path: Path) -> None:
    table_b, table_a = table(build_elf(ELSEWHERE + RET), "b"), table(build_elf(ADD + RET + LOAD + RET), "a")
    frame = corpus([[joined([table_b, table_a])]], tmp_path).set_index("code")
    assert sorted(frame.index) == sorted([LOAD, ADD])
    assert frame.loc[LOAD, ["program", "occurrences"]].tolist() == ["a", 2]


@settings(max_examples=5)
@given(draws=st.data())
def test_the_distribution_to_shards_and_runs_changes_nothing(
    build_elf: BuildElf, tmp_path_factory: pytest.TempPathFactory, draws: st.DataObject
) -> None:
    pieces = st.lists(st.sampled_from([ADD, MOV, LOAD, ELSEWHERE, RET]), min_size=1, max_size=12)
    elves = [build_elf(RET.join([ADD, *piece, b""])) for piece in draws.draw(st.lists(pieces, min_size=1, max_size=4))]
    programs = [table(elf, f"program{number}") for number, elf in enumerate(elves)]
    in_one_shard = corpus([[joined(programs)]], tmp_path_factory.mktemp("one"))
    shards: list[list[pa.Table]] = [[], [], []]
    for program in draws.draw(st.permutations(programs)):
        runs = shards[draws.draw(st.integers(0, 2))]
        if runs and draws.draw(st.booleans()):
            runs[-1] = joined([runs[-1], program])
        else:
            runs.append(program)
    pd.testing.assert_frame_equal(corpus(shards, tmp_path_factory.mktemp("distributed")), in_one_shard)
    # The definition, in pandas.
    rows = pd.concat([program.to_pandas() for program in programs])
    expected = (
        rows.sort_values("program").groupby("block_id").agg({"program": "first", "occurrences": "sum", "code": "first"})
    )
    pd.testing.assert_frame_equal(
        in_one_shard.set_index("block_id")[expected.columns].astype({"occurrences": "int64"}),
        expected.astype({"program": object, "occurrences": "int64"}),
        check_dtype=False,
    )


def test_row_groups_follow_the_first_bits(build_elf: BuildElf, tmp_path: Path) -> None:
    path = write([table(build_elf(RET.join([ADD * n + MOV for n in range(64)])))], tmp_path / "shard")
    shard = tables.RowGroups("blocks", path)
    assert len(shard) == GROUPS and shard.n_rows == 64
    for number, group in enumerate(shard):
        ids = group["block_id"].to_pylist()
        assert all(int(block_id[:2], 16) >> 2 == number for block_id in ids) and ids == sorted(ids)


def test_a_shard_in_another_format_is_named(build_elf: BuildElf, tmp_path: Path) -> None:
    path = tmp_path / "shard"
    with tables.writing("blocks", path) as append:
        append(table(build_elf(ADD + RET)).cast(tables.SCHEMAS["blocks"]))
    with pytest.raises(tables.TableError, match=r"shard does not consist of runs"):
        list(merged([path]))
