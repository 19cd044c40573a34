"""Made-up blocks stay different after masking, and are whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import made_blocks
from learned_schedulers.blocks.read import bhive
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.tables import BLOCKS
from pipeline.lab import tables

CODES = ["01d889d1", "0500000000ffc0", "8b8b0001000029c8", "488b0511223344ffc1"]  # the last one: relative to rip


@pytest.fixture
def real(tmp_path: Path) -> made_blocks.Real:
    texts = {name: "x" for name in ("block_id", "source", "program", "compiler", "section")}
    numbers = {name: 1 for name in ("address", "n_instructions", "occurrences")}
    code = [{"code": bytes.fromhex(code), "masked_code": b""} for code in CODES]
    rows = [texts | numbers | {"relocatable": False} | entry for entry in code]
    tables.write_rows(
        [[row[name] for name in BLOCKS.schema.names] for row in rows], BLOCKS, tmp_path / "blocks.parquet"
    )
    return made_blocks.read(tmp_path / "blocks.parquet", seed=0)


def test_constants_of_four_bytes_are_those_that_masks_leave(real: made_blocks.Real) -> None:
    spans = zip(real.bounds[:-1], real.bounds[1:], real.place, strict=True)
    at = {real.code[a:b].tobytes().hex(): p - a if p >= 0 else -1 for a, b, p in spans}
    assert [at[code] for code in CODES] == [-1, 1, 2, -1]


def test_variants_differ_after_masking(real: made_blocks.Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_blocks, "LINES", 30)
    made_blocks.write(real, 80, tmp_path / "made")
    masked, files = set(), sorted((tmp_path / "made").iterdir())
    assert len(files) == 3
    for file in files:
        blocks, bad = bhive.blocks(file.read_bytes(), 1, 64, Forms())
        assert not bad and set(blocks.n_instructions) == {2}
        spans = zip(blocks.begin.tolist(), blocks.end.tolist(), strict=True)
        masked |= {blocks.masked[low:high].tobytes() for low, high in spans}
    assert len(masked) == 80
    assert np.isin([bytes.fromhex(code) for code in CODES[:3]], list(masked)).any()
