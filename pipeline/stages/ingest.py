"""Cut the programs of one shard into basic blocks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.config import Corpus, section
from pipeline.corpus.ingest import ingest
from pipeline.stages.command import run


def main(
    settings: Annotated[str, typer.Option(help="Section corpus of params.yaml, as JSON.")],
    shard: Annotated[int, typer.Option(help="Which files of the manifest to read.")],
    manifest: Annotated[Path, typer.Option(help="Table manifest.")],
    blocks: Annotated[Path, typer.Option(help="Table blocks, of this shard.")],
    skipped: Annotated[Path, typer.Option(help="Table skipped: files not used, why, and what to do.")],
) -> None:
    """Cut the compiled functions of every file of a shard into basic blocks.

    Blocks end at calls, jumps, returns, padding and wherever a direct branch of the file leads. Bytes
    that betray the original order are zeroed in `masked_code`. A file by another compiler or
    architecture, or a damaged one, is skipped by name; the others go on.
    """
    logging.basicConfig(format="%(message)s")
    files = tables.read("manifest", manifest)
    found, left_out = ingest(section(Corpus, settings), files[files["shard"] == shard])
    tables.write(found, "blocks", blocks)
    tables.write(left_out, "skipped", skipped)


if __name__ == "__main__":
    run(main)
