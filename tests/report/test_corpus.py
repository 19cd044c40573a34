"""The page of the corpus: sources, splits, files that were left out, and what was published."""

from __future__ import annotations

import pandas as pd

from learned_schedulers.figures import render
from pipeline.corpus import prepared
from tests.report import made, shown


def test_the_page_shows_this_run_and_what_is_published() -> None:
    compilers = pd.DataFrame({"source": ["qt56", "qt56", "ffprobe"], "compiler": ["b", "a", "c"]})
    skipped = pd.DataFrame({"source": "qt56", "program": ["lib0.so"], "reason": "r", "remedy": "m"})
    splits = ["training"] * 2 + ["test", "development"]
    legal = pd.DataFrame({"dependencies": "full", "split": splits, "n_legal_orders": [1.0, 4.0, 2.0, 2.0]})
    run = {
        "corpus": made.statistics(),
        "corpus_sources": prepared.sources(made.statistics(), compilers),
        "corpus_splits": prepared.splits(legal),
        "skipped": skipped,
    }
    text, figures = shown.page("corpus", shown.evidence("dag_verification", "ingest", **run))
    assert shown.cells(text, "qt56")[0][:4] == ["a and 1 more", "19", "1,140", "570"]
    assert shown.cells(text, "`full`", "training") == [["2", "50.0%", "2.50", "62.5%"]]
    assert shown.cells(text, "qt56", "r", "lib0.so") == [["m"]]
    assert shown.cells(text, "`full`", "all")[0][:4] == ["24,000", "97.8%", "186,203", "1,126,132"]
    assert shown.cells(text, "How many runs were there?") == [["≥ 1,000,000", "1,126,132", "**yes**"]]
    lengths, _, ready = figures["corpus"]().axes
    assert [line.get_label() for line in lengths.lines] == ["ffprobe", "qt56"] and len(ready.lines) == 3
    assert render(figures["corpus"]())


def test_without_numbers_the_page_says_what_to_run() -> None:
    text, figures = shown.page("corpus", shown.evidence("paper"))
    assert not figures and "None." in text
    assert "`snakemake data/published/dag_verification.done`" in text and "`python -m benchmarks.ingest`" in text
