"""Statistics of the corpus, row group by row group."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from pipeline.corpus.stages import describe
from pipeline.corpus.tables import CORPUS
from pipeline.lab import chapters, tables
from tests.analysis import synthetic


def write(folder: Path, size: int) -> tuple[Path, Path]:
    """Tables `blocks` and `dags` in row groups of `size`."""
    blocks, dags = synthetic.corpus()
    paths = []
    for name, frame in (("blocks", blocks), ("dags", dags)):
        paths.append(folder / f"{name}_{size}.parquet")
        with tables.writing(chapters.tables()[name], paths[-1]) as append:
            for at in range(0, len(frame), size):
                append(
                    pa.Table.from_pandas(frame[at : at + size], chapters.tables()[name].schema, preserve_index=False)
                )
    return paths[0], paths[1]


def test_row_groups_do_not_show(tmp_path: Path) -> None:
    for size in (100, 600):
        describe.main(*write(tmp_path, size), tmp_path / f"{size}.parquet")
    first, second = (tables.read(CORPUS, tmp_path / f"{size}.parquet") for size in (100, 600))
    pd.testing.assert_frame_equal(first, second)
    assert first[(first["statistic"] == "blocks") & (first["source"] == "")]["value"].tolist() == [600]


def test_tables_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    blocks, _ = write(tmp_path, 100)
    _, dags = write(tmp_path, 600)
    with pytest.raises(ValueError, match=r"dags_600\.parquet and .*blocks_100\.parquet hold different blocks"):
        describe.main(blocks, dags, tmp_path / "out.parquet")
