"""Damaged inputs through ingestion: blocks that the DAG stage accepts, or a row of `skipped` with reason and remedy.

Every batch gives whole tables from the stages, on two shards, that name the same files.
`DAMAGED=5000 pytest tests/blocks/read/test_malformed.py` tries as many inputs of each seed, a quarter of an hour.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from learned_schedulers.blocks.dag.bulk import COLUMNS, Builder
from learned_schedulers.blocks.read.source_settings import Corpus
from pipeline.corpus.ingestion import Ingestion
from pipeline.corpus.stages import deduplicate, ingest, join_partitions, manifest
from pipeline.corpus.tables import BLOCKS, MANIFEST, SKIPPED
from pipeline.corpus.unique import groups
from pipeline.lab import tables
from tests import damaged
from tests.blocks.read import corpora
from tests.blocks.read.malformed import ELF_FAULTS, inputs, sound_files

pytestmark = pytest.mark.slow


def _corpus(folder: Path) -> Corpus:
    sources = {kind: {"kind": kind, "include": [f"{folder}/{kind}/*"]} for kind in ("files", "bhive")}
    return corpora.corpus(sources, start_up="4.4.7")


def _one_by_one(corpus: Corpus, files: pd.DataFrame) -> Iterator[tuple[str, bool, list[tuple[str, str]]]]:
    """For each file: its name, whether it gave blocks, and what was skipped and why."""
    ingestion, builder = Ingestion(corpus), Builder("full")
    for number in range(len(files)):
        blocks, skipped_before = 0, len(ingestion.skipped())
        with damaged.watched():
            for run in ingestion.runs(files.iloc[number : number + 1]):
                for group in groups(run):
                    blocks += builder.build(group.select(COLUMNS)).num_rows
        faults = ingestion.skipped().iloc[skipped_before:]
        reasons = list(zip(faults["reason"], faults["remedy"], strict=True))
        yield files["program"].iloc[number], blocks > 0, reasons


def _by_stages(corpus: Corpus, listing: dict[str, Path], folder: Path) -> set[str]:
    """The programs that the stages, run on two shards, say they skipped; checks their tables."""
    settings = corpus.model_dump_json()
    manifest.main(settings, list(listing.values()), folder / "manifest.parquet")
    parts, skipped = ([folder / f"{letter}{shard}.parquet" for shard in range(corpus.shards)] for letter in "bs")
    for shard, (blocks, names) in enumerate(zip(parts, skipped, strict=True)):
        ingest.main(settings, shard, folder / "manifest.parquet", [blocks], names)
    whole = folder / "partition.parquet"
    deduplicate.main(parts, 1, whole)
    join_partitions.main([whole], skipped, folder / "blocks.parquet", folder / "skipped.parquet")
    assert not list(folder.glob(".*")), "a half-written table was left"
    assert tables.read(BLOCKS, folder / "blocks.parquet")["block_id"].is_unique
    return set(tables.read(SKIPPED, folder / "skipped.parquet")["program"])


def batch(cases: list[tuple[str, str, bytes]], folder: Path) -> Counter[str]:
    """Put the inputs through ingestion; returns the number of inputs by outcome.

    Raises AssertionError if an input is neither used nor named, or a table is not whole.
    """
    corpus, out = _corpus(folder), folder / "out"
    out.mkdir()
    listing: dict[str, Path] = {}
    for source in corpus.sources:
        (folder / source).mkdir()
        files = [(folder / source / f"{n}-{fault}", data) for n, (k, fault, data) in enumerate(cases) if k == source]
        for path, data in files:
            path.write_bytes(data)
        listing[source] = out / source
        listing[source].write_text(json.dumps([{"path": str(p), "size_bytes": len(d), "sha256": ""} for p, d in files]))
    named = _by_stages(corpus, listing, out)
    outcomes: Counter[str] = Counter()
    for program, used, reasons in _one_by_one(corpus, tables.read(MANIFEST, out / "manifest.parquet")):
        assert used or reasons, f"{program} was neither used nor named"
        assert all(reason and remedy for reason, remedy in reasons), f"{program}: no reason or no remedy"
        assert (program in named) == bool(reasons), f"{program}: the stages and the single run disagree"
        outcomes["used" if used else kind_of(reasons[0][0])] += 1
        outcomes["bad lines of CSV, each named"] += sum(reason.startswith("line ") for reason, _ in reasons)
    assert outcomes.total() - outcomes["bad lines of CSV, each named"] == len(cases)
    return outcomes


def kind_of(reason: str) -> str:
    """A reason without its particulars."""
    return re.split(r" \(|:", re.sub(r"line \d+", "line", reason))[0][:60]


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_inputs_are_used_or_named(tmp_path: Path, seed: int) -> None:
    outcomes: Counter[str] = Counter()
    cases = list(inputs(seed, damaged.count(150), sound_files()))
    for begin in range(0, len(cases), 500):
        folder = tmp_path / str(begin)
        folder.mkdir()
        outcomes += batch(cases[begin : begin + 500], folder)
    # The sample is meaningful: most faults are detected, for several reasons, and some do no harm.
    assert outcomes["used"] > 20 and len(outcomes) > 8
    assert outcomes["truncated or damaged ELF file"] > 20


def test_every_fault_is_among_them() -> None:
    faults = {fault for _, fault, _ in inputs(0, 100, sound_files()[2:])}
    assert faults == {"wrong_csv", *(fault.__name__ for fault in ELF_FAULTS)}
