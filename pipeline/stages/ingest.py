"""Cut the programs of one shard into basic blocks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.blocks.corpus.ingest import Ingestion
from pipeline.blocks.corpus.unique import REPETITIVE, groups
from pipeline.config.corpus import Corpus
from pipeline.config.section import section
from pipeline.stages.command import run


def main(
    settings: Annotated[str, typer.Option(help="Section corpus of params.yaml, as JSON.")],
    shard: Annotated[int, typer.Option(help="Which files of the manifest to read.")],
    manifest: Annotated[Path, typer.Option(help="Table manifest.")],
    blocks: Annotated[Path, typer.Option(help="Table blocks, of this shard: runs sorted by block_id.")],
    skipped: Annotated[Path, typer.Option(help="Table skipped: files not used, why, and what to do.")],
) -> None:
    """Cut the compiled functions of every file of a shard into basic blocks.

    Blocks end at calls, jumps, returns, padding and wherever a direct branch of the file leads. Bytes
    that betray the original order are zeroed in `masked_code`. A file by another compiler or
    architecture, or a damaged one, is skipped by name; the others go on.
    """
    logging.basicConfig(format="%(message)s")
    files = tables.read("manifest", manifest)
    ingestion = Ingestion(section(Corpus, settings))
    with tables.writing("blocks", blocks, REPETITIVE) as append:
        for table in ingestion.runs(files[files["shard"] == shard]):
            for group in groups(table):
                append(group)
        tables.write(ingestion.skipped(), "skipped", skipped)


if __name__ == "__main__":
    run(main)
