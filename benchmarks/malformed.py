"""Damaged inputs through ingestion: `python -m benchmarks.malformed` (10,000 of them, a quarter of an hour).

For every input (`tests/blocks/corpus/malformed.py`): no crash; no hang (a watchdog ends the run and shows where it
was); either blocks that the DAG stage accepts, or a row of `skipped` with reason and remedy. For every batch: whole
tables from the stages, on two shards, that name the same files.
"""

from __future__ import annotations

import faulthandler
import io
import json
import logging
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr
from itertools import islice
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.corpus.ingest import Ingestion
from pipeline.blocks.corpus.unique import groups
from pipeline.blocks.dag.bulk import COLUMNS, Builder
from pipeline.config.corpus import Corpus
from pipeline.stages import deduplicate, ingest, join_partitions, manifest
from tests.blocks.corpus.malformed import inputs, sound_files

LIMIT_SECONDS = 20  # per input; the slowest takes a fraction of a second
_BATCH = 500


def _corpus(folder: Path) -> Corpus:
    sources = {kind: {"kind": kind, "include": [f"{folder}/{kind}/*"]} for kind in ("files", "bhive")}
    return Corpus.model_validate(
        {
            "sources": sources,
            "compiler": "GCC",
            "start_up_compiler": "4.4.7",
            "shards": 2,
            "min_instructions": 2,
            "max_instructions": 64,
        }
    )


def _one_by_one(corpus: Corpus, files: pd.DataFrame) -> Iterator[tuple[str, bool, list[tuple[str, str]], float]]:
    """For each file: its name, whether it gave blocks, what was skipped and why, and seconds."""
    ingestion, builder = Ingestion(corpus), Builder("full")
    for number in range(len(files)):
        faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True, file=sys.__stderr__)
        start, skipped_before = time.perf_counter(), len(ingestion.skipped())
        blocks = 0
        for run in ingestion.runs(files.iloc[number : number + 1]):
            for group in groups(run):
                blocks += builder.build(group.select(COLUMNS)).num_rows
        faulthandler.cancel_dump_traceback_later()
        faults = ingestion.skipped().iloc[skipped_before:]
        reasons = list(zip(faults["reason"], faults["remedy"], strict=True))
        yield files["program"].iloc[number], blocks > 0, reasons, time.perf_counter() - start


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
    assert tables.read("blocks", folder / "blocks.parquet")["block_id"].is_unique
    return set(tables.read("skipped", folder / "skipped.parquet")["program"])


def batch(cases: list[tuple[str, str, bytes]], folder: Path) -> tuple[Counter[str], float]:
    """Put the inputs through ingestion; returns the number of inputs by outcome, and the longest time of one input.

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
    slowest = 0.0
    for program, used, reasons, seconds in _one_by_one(corpus, tables.read("manifest", out / "manifest.parquet")):
        assert used or reasons, f"{program} was neither used nor named"
        assert all(reason and remedy for reason, remedy in reasons), f"{program}: no reason or no remedy"
        assert (program in named) == bool(reasons), f"{program}: the stages and the single run disagree"
        slowest = max(slowest, seconds)
        outcomes["used" if used else kind_of(reasons[0][0])] += 1
        outcomes["bad lines of CSV, each named"] += sum(reason.startswith("line ") for reason, _ in reasons)
    assert outcomes.total() - outcomes["bad lines of CSV, each named"] == len(cases)
    return outcomes, slowest


def kind_of(reason: str) -> str:
    """A reason without its particulars."""
    return re.split(r" \(|:", re.sub(r"line \d+", "line", reason))[0][:60]


def main(
    count: Annotated[int, typer.Option(help="How many damaged inputs.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    more: Annotated[Path | None, typer.Option(help="Folder of further ELF files to damage.")] = None,
) -> None:
    """Put damaged inputs through ingestion and count what became of them."""
    logging.disable(logging.WARNING)
    sound = sound_files() + [path.read_bytes() for path in (sorted(more.iterdir()) if more else [])]
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    cases = inputs(seed, count, sound)
    for _ in tqdm(range(0, count, _BATCH), "damaged inputs", unit="batch", file=sys.__stderr__):
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
            batch_outcomes, longest = batch(list(islice(cases, _BATCH)), Path(folder))
        outcomes, slowest = outcomes + batch_outcomes, max(slowest, longest)
    for outcome, number in outcomes.most_common():
        print(f"{number:7d}  {outcome}")
    print(f"{count} inputs, seed {seed}: no crash, no hang, no partial table; the slowest took {slowest:.2f} s")


if __name__ == "__main__":
    typer.run(main)
