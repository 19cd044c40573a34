"""Cut the programs of one shard into basic blocks."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.blocks.read.source_settings import BhiveSource, Corpus
from learned_schedulers.section import section
from pipeline.corpus.ingestion import Ingestion
from pipeline.corpus.partition import divided
from pipeline.corpus.tables import MANIFEST, PARTITIONS, SKIPPED
from pipeline.corpus.unique import REPETITIVE
from pipeline.lab import tables
from pipeline.lab.stages import options

# Reads every format. It is imported by name, which rules.smk declares, so that a corpus without such a source
# does not depend on the formats.
_FORMATS = "pipeline.corpus.every_format"


def main(
    settings: options.Settings,
    shard: Annotated[int, typer.Option(help="Number of the manifest's shard to read.")],
    manifest: options.Table,
    blocks: Annotated[list[Path], typer.Option(help="Tables to write, one for each partition by block_id.")],
    skipped: options.Out,
) -> None:
    """Cut the compiled functions of every file of a shard into basic blocks.

    Blocks end at calls, jumps, returns, padding and the targets of the file's direct branches. `masked_code` has zeros
    in place of bytes that betray the original order. The blocks are dealt out to the partitions, so that the job of a
    partition reads its own files alone. A file by another compiler or for another architecture, or a
    damaged one, is skipped, and its name is recorded.
    """
    logging.basicConfig(format="%(message)s")
    files = tables.read(MANIFEST, manifest)
    corpus = section(Corpus, settings)
    with_formats = any(isinstance(source, BhiveSource) for source in corpus.sources.values())
    reader: type[Ingestion] = import_module(_FORMATS).Ingestion if with_formats else Ingestion
    ingestion = reader(corpus)
    with ExitStack() as files_written:
        append = [files_written.enter_context(tables.writing(PARTITIONS, path, REPETITIVE)) for path in blocks]
        for run in ingestion.runs(files[files["shard"] == shard]):
            for partition, group in divided(run, len(blocks)):
                append[partition](group)
        tables.write(ingestion.skipped(), SKIPPED, skipped)
