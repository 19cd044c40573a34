"""The compiled corpus end to end, with the system's GCC, on a program of the test."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.dag.bulk import COLUMNS, Builder
from pipeline.corpus.stages.compile import main
from pipeline.corpus.tables import BLOCKS, CORPUS, INPUT_ORDERS, SKIPPED
from pipeline.lab import tables
from pipeline.lab.config.params import load

ROOT = Path(__file__).parents[2]
NAMES = ("blocks", "input_orders", "skipped", "statistics")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here: on Debian, apt-get install gcc")


def compiled(folder: Path, out: Path, cores: int = 1) -> dict[str, Path]:
    """Tables of the programs in `folder`."""
    settings = load(ROOT / "params.test.yaml").compiled.model_dump()
    settings["programs"]["tiny"]["artifact"]["path"] = str(folder)
    paths = {name: out / f"{name}.parquet" for name in NAMES}
    main(json.dumps(settings), **paths, cores=cores)
    return paths


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("program")
    shutil.copy(ROOT / "tests/blocks/compiled/program/tiny.c", folder)
    (folder / "bad.c").write_text('#include "generated.h"\n')
    (folder / "data.c").write_text("const int table[3] = {1, 2, 3};\n")
    return compiled(folder, tmp_path_factory.mktemp("tables"))


def test_every_block_has_an_order_that_is_legal(outputs: dict[str, Path]) -> None:
    blocks, orders = tables.read(BLOCKS, outputs["blocks"]), tables.read(INPUT_ORDERS, outputs["input_orders"])
    assert blocks["block_id"].tolist() == orders["block_id"].tolist() == sorted(set(blocks["block_id"]))
    assert set(blocks["source"]) == {"compiled"} and set(blocks["program"]) == {"tiny/tiny.c"}
    assert not blocks["relocatable"].any() and (blocks["address"] > 0).all()
    dags = Builder("full").build(tables.RowGroups(BLOCKS, outputs["blocks"], COLUMNS)._file.read(COLUMNS)).to_pandas()
    moved = 0
    for order, dag in zip(orders["input_order"], dags.itertuples(), strict=True):
        slot = np.argsort(order)
        assert sorted(order) == list(range(dag.n_instructions))
        assert (slot[dag.before] < slot[dag.after]).all()
        moved += slot.tolist() != list(range(dag.n_instructions))
    assert moved > 3


def test_files_without_blocks_are_told(outputs: dict[str, Path]) -> None:
    skipped = tables.read(SKIPPED, outputs["skipped"]).set_index("program")
    assert "generated.h" in skipped.loc["tiny/bad.c", "reason"]
    assert ".eh_frame" in skipped.loc["tiny/data.c", "reason"]
    statistics = tables.read(CORPUS, outputs["statistics"])
    counts = {(row.program, row.statistic, row.bin): row.value for row in statistics.itertuples()}
    assert counts["tiny", "files", ""] == 3
    assert counts["tiny", "files_skipped", ""] == 2
    paired = counts["tiny", "blocks_paired", ""]
    unpaired = sum(value for (_, name, _), value in counts.items() if name == "blocks_unpaired")
    illegal = sum(value for (_, name, _), value in counts.items() if name == "pairs_illegal")
    assert counts["tiny", "blocks", ""] == paired + unpaired
    assert paired == counts["tiny", "pairs_legal", ""] + illegal


def test_same_bytes_for_any_number_of_cores(outputs: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    for name, text in (("bad.c", '#include "generated.h"\n'), ("data.c", "const int table[3] = {1, 2, 3};\n")):
        (folder / name).write_text(text)
    shutil.copy(ROOT / "tests/blocks/compiled/program/tiny.c", folder)
    again = compiled(folder, tmp_path, cores=2)
    for name in NAMES:
        assert again[name].read_bytes() == outputs[name].read_bytes(), name


def test_no_file_gives_a_block(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("no C\n")
    with pytest.raises(ValueError, match=r"no C file gave a block.*compiling failed"):
        compiled(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
