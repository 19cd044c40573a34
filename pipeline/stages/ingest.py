"""Cut the programs of one shard into basic blocks."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from pipeline import tables
from pipeline.blocks.corpus.unique import REPETITIVE, groups
from pipeline.blocks.formats.corpus_source import Ingestion
from pipeline.config.corpus import Corpus
from pipeline.config.section import section
from pipeline.stages import options


def main(
    settings: options.Settings,
    shard: Annotated[int, typer.Option(help="Number of the manifest's shard to read.")],
    manifest: options.Table,
    blocks: options.Out,
    skipped: options.Out,
) -> None:
    """Cut the compiled functions of every file of a shard into basic blocks.

    Blocks end at calls, jumps, returns, padding and the targets of the file's direct branches. `masked_code` has zeros
    in place of bytes that betray the original order. A file by another compiler or for another architecture, or a
    damaged one, is skipped, and its name is recorded.
    """
    logging.basicConfig(format="%(message)s")
    files = tables.read("manifest", manifest)
    ingestion = Ingestion(section(Corpus, settings))
    with tables.writing("blocks", blocks, REPETITIVE) as append:
        for table in ingestion.runs(files[files["shard"] == shard]):
            for group in groups(table):
                append(group)
        tables.write(ingestion.skipped(), "skipped", skipped)
