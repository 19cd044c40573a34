"""Blocks that are equal after masking, within a program, a shard and the corpus."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.read import cut
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus import partition
from pipeline.corpus.partition import TooManyPartitions, divided, groups_of, merged, regrouped
from pipeline.corpus.program_rows import table_of
from pipeline.corpus.tables import BLOCKS, PARTITIONS
from pipeline.corpus.unique import REPETITIVE, first_of_each, groups, joined
from pipeline.lab import tables
from tests.blocks.read.conftest import build

ADD = bytes.fromhex("01d8")  # add eax, ebx
MOV = bytes.fromhex("89d1")  # mov ecx, edx
LOAD, ELSEWHERE = bytes.fromhex("488b0544332211"), bytes.fromhex("488b0588776655")  # differ in the displacement
RET = b"\xc3"


def table(elf: bytes, program: str = "program") -> pa.Table:
    image = read_image(elf, r"4\.9", r"4\.4")
    return table_of("mine", program, "gcc", image.relocatable, list(cut.blocks(image, 1, 64, Forms())))


def write(runs: list[pa.Table], folder: Path, partitions: int = 1) -> list[Path]:
    """A shard, as stage ingest writes it: a file for each partition."""
    paths = [folder / f"{number}.parquet" for number in range(partitions)]
    with ExitStack() as files:
        append = [files.enter_context(tables.writing(PARTITIONS, path)) for path in paths]
        for run in runs:
            for partition, group in divided(first_of_each(run), partitions):
                append[partition](group)
    return paths


def corpus(shards: list[list[pa.Table]], folder: Path, partitions: int = 1) -> pd.DataFrame:
    """The blocks of all partitions, in their order."""
    written = [write(runs, folder / str(number), partitions) for number, runs in enumerate(shards)]
    pieces = [group for paths in zip(*written, strict=True) for group in merged(list(paths), partitions)]
    return pa.concat_tables(pieces).to_pandas()


def test_the_first_of_equal_blocks_of_one_program_stays() -> None:
    code = LOAD + ADD + RET + MOV + RET + ELSEWHERE + ADD + RET
    frame = table(build(code, address=0x1000)).to_pandas()
    assert frame["code"].tolist() == [LOAD + ADD, MOV]
    assert frame["masked_code"].tolist() == [bytes.fromhex("488b050000000001d8"), MOV]
    assert frame["address"].tolist() == [0x1000, 0x100A]
    assert frame["occurrences"].tolist() == [2, 1]
    assert frame["n_instructions"].tolist() == [2, 1]
    assert frame["block_id"].tolist() == [
        hashlib.blake2b(code, digest_size=16).hexdigest() for code in frame["masked_code"]
    ]


def test_sections_of_an_object_file() -> None:
    frame = table(build(ADD + RET, kind="rel", more=MOV + RET + ADD + RET)).to_pandas()
    rows = frame[["section", "address", "code", "occurrences", "relocatable"]]
    assert list(rows.itertuples(index=False, name=None)) == [
        (".text", 0, ADD, 2, True),
        (".text.more", 0, MOV, 1, True),
    ]


def test_the_block_of_the_first_program_by_name_stays(tmp_path: Path) -> None:
    table_b, table_a = table(build(ELSEWHERE + RET), "b"), table(build(ADD + RET + LOAD + RET), "a")
    frame = corpus([[joined([table_b, table_a])]], tmp_path).set_index("code")
    assert sorted(frame.index) == sorted([LOAD, ADD])
    assert frame.loc[LOAD, ["program", "occurrences"]].tolist() == ["a", 2]


@settings(max_examples=5)
@given(draws=st.data())
def test_the_distribution_to_shards_runs_and_partitions_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, draws: st.DataObject
) -> None:
    pieces = st.lists(st.sampled_from([ADD, MOV, LOAD, ELSEWHERE, RET]), min_size=1, max_size=12)
    elves = [build(RET.join([ADD, *piece, b""])) for piece in draws.draw(st.lists(pieces, min_size=1, max_size=4))]
    programs = [table(elf, f"program{number}") for number, elf in enumerate(elves)]
    in_one_shard = corpus([[joined(programs)]], tmp_path_factory.mktemp("one"))
    shards: list[list[pa.Table]] = [[], [], []]
    for program in draws.draw(st.permutations(programs)):
        runs = shards[draws.draw(st.integers(0, 2))]
        if runs and draws.draw(st.booleans()):
            runs[-1] = joined([runs[-1], program])
        else:
            runs.append(program)
    partitions = draws.draw(st.integers(1, 5))
    pd.testing.assert_frame_equal(corpus(shards, tmp_path_factory.mktemp("distributed"), partitions), in_one_shard)
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


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 60])
def test_partitions_and_their_row_groups_are_ranges_of_ids(tmp_path: Path, partitions: int) -> None:
    ids = []
    for path in write([table(build(RET.join([ADD * n + MOV for n in range(64)])))], tmp_path, partitions):
        part = tables.RowGroups(PARTITIONS, path)
        assert len(part) == groups_of(partitions) and part.n_rows < 3 * 64 / partitions + 5
        ids += [block_id for group in part for block_id in group["block_id"].to_pylist()]
    assert len(ids) == 64 and ids == sorted(ids)


def test_too_many_partitions_are_refused() -> None:
    with pytest.raises(TooManyPartitions, match="--set-scatter"):
        list(divided(table(build(ADD + RET)), 5000))


@settings(max_examples=30)
@given(bounds=st.lists(st.integers(0, 300), max_size=8), most_rows=st.integers(2, 40), n_blocks=st.integers(0, 300))
def test_row_groups_of_the_corpus_do_not_depend_on_the_pieces(bounds: list[int], most_rows: int, n_blocks: int) -> None:
    blocks = numbered_blocks(n_blocks)
    ends = [0, *sorted(min(bound, n_blocks) for bound in bounds), n_blocks]
    pieces = [blocks.slice(low, high - low) for low, high in pairwise(ends)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "_MOST_ROWS", most_rows)
        row_groups = list(regrouped(pieces))
        assert row_groups == list(regrouped([blocks]))
    assert pa.concat_tables(row_groups).equals(blocks)
    assert max(group.num_rows for group in row_groups) <= most_rows
    prefixes = [{int(block_id[:2], 16) >> 2 for block_id in group["block_id"].to_pylist()} for group in row_groups]
    assert all(len(prefix) <= 1 for prefix in prefixes)


def test_row_groups_of_a_small_corpus_are_those_of_a_small_table() -> None:
    blocks = numbered_blocks(300)
    assert list(regrouped([blocks])) == list(groups(blocks))


@pytest.mark.slow
def test_merging_holds_one_row_group_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory: as many rows at once as the runs have in a sixteenth of a partition, whatever the partition's size."""
    rows_joined = []

    def counted(pieces: list[pa.Table]) -> pa.Table:
        rows_joined.append(sum(piece.num_rows for piece in pieces))
        return joined(pieces)

    monkeypatch.setattr(partition, "joined", counted)
    blocks = numbered_blocks(4000)
    for partitions in (1, 4, 32):
        encoded = dictionary_encoded(blocks)
        shards = [write([encoded, encoded], tmp_path / f"{partitions}_{number}", partitions) for number in range(2)]
        rows_joined.clear()
        n_rows = sum(group.num_rows for paths in zip(*shards, strict=True) for group in merged(list(paths), partitions))
        assert n_rows == 4000
        assert sum(rows_joined) == 4 * 4000 and max(rows_joined) < 3 * 4 * 4000 / (groups_of(partitions) * partitions)


def numbered_blocks(n_blocks: int) -> pa.Table:
    """Table `blocks` with made-up ids, sorted by them."""
    ids = sorted(hashlib.blake2b(str(number).encode(), digest_size=16).hexdigest() for number in range(n_blocks))
    texts = {name: ["x"] * n_blocks for name in ("source", "program", "compiler", "section")}
    numbers = {name: [1] * n_blocks for name in ("address", "n_instructions", "occurrences")}
    code = {name: [bytes.fromhex(block_id) for block_id in ids] for name in ("code", "masked_code")}
    columns = {"block_id": ids, "relocatable": [False] * n_blocks} | texts | numbers | code
    return pa.table([columns[name] for name in BLOCKS.schema.names], schema=BLOCKS.schema)


def dictionary_encoded(blocks: pa.Table) -> pa.Table:
    """With the repetitive strings as ingestion holds them."""
    for name in REPETITIVE:
        place = blocks.schema.get_field_index(name)
        blocks = blocks.set_column(place, name, blocks[name].dictionary_encode())
    return blocks


def test_a_shard_in_another_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "shard"
    with tables.writing(PARTITIONS, path) as append:
        append(table(build(ADD + RET)).cast(BLOCKS.schema))
    with pytest.raises(tables.TableError, match=r"shard does not consist of runs"):
        list(merged([path], 1))
