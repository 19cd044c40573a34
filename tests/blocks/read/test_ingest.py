"""The commands from fetch to join_partitions, on the tiny corpus and on bad files added to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from pipeline.corpus import ingestion as reading
from pipeline.corpus.stages import deduplicate, fetch, ingest, join_partitions, manifest
from pipeline.corpus.tables import BLOCKS, SKIPPED
from pipeline.lab import tables
from pipeline.lab.config.files import read
from tests.blocks.read.conftest import build

ROOT = Path(__file__).parents[3]


def settings(folder: Path, **change: object) -> dict[str, object]:
    corpus = read(ROOT / "params.test.yaml")["corpus"]
    return corpus | {"sources": {"tiny": {"kind": "files", "include": [f"{folder}/*"]}}} | change


def run(corpus: dict[str, object], shards: int, out: Path, partitions: int = 2) -> None:
    text = json.dumps(corpus | {"shards": shards})
    fetch.main("tiny", json.dumps(corpus["sources"]["tiny"]), out / "tiny")
    manifest.main(text, [out / "tiny"], out / "manifest.parquet")
    dealt = [[out / f"b{shard}_{number}.parquet" for number in range(partitions)] for shard in range(shards)]
    for shard in range(shards):
        ingest.main(text, shard, out / "manifest.parquet", dealt[shard], out / f"s{shard}.parquet")
    parts = [out / f"p{number}.parquet" for number in range(partitions)]
    for number, part in enumerate(parts):
        deduplicate.main([dealt[shard][number] for shard in range(shards)], partitions, part)
    skipped = [out / f"s{shard}.parquet" for shard in range(shards)]
    join_partitions.main(parts, skipped, out / "blocks.parquet", out / "skipped.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "tests" / "tiny", tmp_path / "files")
    return tmp_path / "files"


def test_tiny_corpus(folder: Path, tmp_path: Path) -> None:
    numbers = [(1, 1), (2, 2), (3, 1), (1, 5)]  # of shards, of partitions
    outputs = [tmp_path / f"{shards}_{partitions}" for shards, partitions in numbers]
    for (shards, partitions), out in zip(numbers, outputs, strict=True):
        run(settings(folder), shards, out, partitions)
    blocks = tables.read(BLOCKS, outputs[0] / "blocks.parquet")
    assert (blocks["n_instructions"] == 5).sum() >= 300
    assert blocks["block_id"].is_unique and blocks["block_id"].is_monotonic_increasing
    assert (blocks["code"] != blocks["masked_code"]).any()
    assert blocks["program"].nunique() == 2
    contents = {(out / "blocks.parquet").read_bytes() for out in outputs}
    assert len(contents) == 1


def test_bad_files_are_skipped_by_name(folder: Path, tmp_path: Path) -> None:
    good = (folder / "tiny1.so").read_bytes()
    gcc = "GCC: (Debian) 12.2.0"
    code = bytes.fromhex("01d889d1c3")
    bad = {
        "truncated.so": (good[:5000], "truncated"),
        "arm.so": (build(code, machine=183, comments=(gcc,)), "another architecture"),
        "bare.so": (build(code, eh_frame=False, comments=(gcc,)), "no .eh_frame"),
        "clang.so": (build(code, comments=("clang version 3.6",)), "built by another compiler: clang version 3.6"),
        "short.so": (build(code[2:], comments=(gcc,)), "no block of 2 to 64 instructions"),
    }
    for name, (content, _) in bad.items():
        (folder / name).write_bytes(content)
    run(settings(folder), 2, tmp_path / "out")
    skipped = tables.read(SKIPPED, tmp_path / "out" / "skipped.parquet").set_index("program")
    assert sorted(skipped.index) == sorted(str(folder / name) for name in bad)
    for name, (_, reason) in bad.items():
        assert skipped.loc[str(folder / name), "reason"].startswith(reason)
        assert skipped.loc[str(folder / name), "remedy"]
    assert tables.read(BLOCKS, tmp_path / "out" / "blocks.parquet")["program"].nunique() == 2


def test_no_block_at_all(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no block in the whole corpus .*tiny1\.so: built by another compiler.*correct"
    ):
        run(settings(folder, compiler=r"GCC: \(.*\) 4\.9\.\d"), 2, tmp_path / "out")
    assert not (tmp_path / "out" / "blocks.parquet").exists()
    assert not (tmp_path / "out" / "skipped.parquet").exists()


def test_blocks_of_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "skl.csv").write_text("hex,value\n01d889d1,100.0\n,0.05\n01d8488b0544332211,2\n01d889d1,7\n")
    run(
        settings(tmp_path, sources={"tiny": {"kind": "bhive", "include": [f"{tmp_path}/files/*"]}}), 2, tmp_path / "out"
    )
    blocks = tables.read(BLOCKS, tmp_path / "out" / "blocks.parquet").set_index("address")
    assert sorted(blocks.index) == [2, 4]
    row = blocks.loc[2]
    assert [row.source, row.program, row.compiler] == ["tiny", str(tmp_path / "files" / "skl.csv"), "unknown"]
    assert (row.occurrences, row.relocatable, row.code) == (2, True, bytes.fromhex("01d889d1"))
    skipped = tables.read(SKIPPED, tmp_path / "out" / "skipped.parquet")
    assert skipped["reason"].tolist() == ["line 1: not hexadecimal: 'hex'", "line 3: empty hex field"]
    assert skipped["remedy"].str.len().min() > 0


@pytest.mark.slow
@settings_of_hypothesis(max_examples=10, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["01d889d1,1", "01d8488b0544332211,2", "89d101d8", "", "nothing", "e8", "90"])),
    end=st.sampled_from(["\n", "\r\n"]),
    piece_bytes=st.integers(1, 40),
)
def test_a_long_file_of_lines_is_read_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, piece_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "files").mkdir()
    (folder / "files" / "long.csv").write_text(end.join(["hex,value", "01d889d1,1", *lines]), newline="")
    corpus = settings(folder, sources={"tiny": {"kind": "bhive", "include": [f"{folder}/files/*"]}})
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("whole", 1 << 20), ("pieces", piece_bytes)):
            patch.setattr(reading, "_PIECE_BYTES", size)
            patch.setattr(reading, "_RUN_ROWS", 3)
            run(corpus, 2, folder / name)
    for table in ("blocks", "skipped"):
        whole, pieces = ((folder / name / f"{table}.parquet").read_bytes() for name in ("whole", "pieces"))
        assert whole == pieces


def test_a_long_file_that_is_no_list_of_blocks_is_skipped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PIECE_BYTES", 100)
    (folder / "zeros").write_bytes(bytes(1000))
    (folder / "hex.csv").write_text("01d889d1\n" * 50)
    run(settings(folder, sources={"tiny": {"kind": "bhive", "include": [f"{folder}/*"]}}), 1, tmp_path / "out")
    skipped = tables.read(SKIPPED, tmp_path / "out" / "skipped.parquet").set_index("program")
    assert "zero bytes" in skipped.loc[str(folder / "zeros"), "reason"]
    blocks = tables.read(BLOCKS, tmp_path / "out" / "blocks.parquet")
    assert blocks.loc[blocks["program"] == str(folder / "hex.csv"), "occurrences"].tolist() == [50]
