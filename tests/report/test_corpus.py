"""The tables of the corpus: compilers, splits, files that were left out."""

from __future__ import annotations

import pandas as pd

from pipeline.corpus.page import composition
from tests.report import made


def test_sources_splits_and_files_left_out() -> None:
    compilers = pd.DataFrame({"source": ["qt56", "qt56", "ffprobe"], "compiler": ["b", "a", "c"]})
    names = [f"lib{i}.so" for i in range(5)]
    skipped = pd.DataFrame({"source": "qt56", "program": names, "reason": "r", "remedy": "m"})
    splits = ["training"] * 2 + ["test", "development"]
    legal = pd.DataFrame({"dependencies": "full", "split": splits, "n_legal_orders": [1.0, 4.0, 2.0, 2.0]})
    shown = composition.section(made.evidence(compilers=compilers, skipped=skipped, splits=legal))
    assert [line[:3] for line in shown["sources"].lines] == [
        ["ffprobe", "c", "1"], ["qt56", "a; b", "19"], ["**all**", "", "20"]
    ]  # fmt: skip
    assert [line[1] for line in shown["splits"].lines] == ["training", "development", "test"]
    assert shown["splits"].lines[0] == ["full", "training", "2", "50.0%", "2.5", "62.5%"]
    assert shown["skipped"].lines == [["qt56", "r", "5", "lib0.so, lib1.so, lib2.so and 2 more", "m"]]


def test_without_files_left_out_there_is_no_table() -> None:
    shown = composition.section(made.evidence())
    assert not shown["skipped"] and not shown["splits"] and shown["mode"] == "full"
