"""List the ELF files of all sources and deal them out to shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.blocks.read.source_settings import Corpus
from learned_schedulers.blocks.read.sources import distribute
from learned_schedulers.section import section
from pipeline.corpus.tables import MANIFEST
from pipeline.lab import tables
from pipeline.lab.stages import options


def main(
    settings: options.Settings,
    artifacts: Annotated[list[Path], typer.Option(help="Artifacts of stage fetch; each has the name of its source.")],
    out: options.Out,
) -> None:
    """List every ELF file that a source's `include` matches, with the shard that will read it.

    Files are dealt out by size, the largest first, each to the shard with the fewest bytes so far: the shards take
    about the same time.
    """
    tables.write(distribute(section(Corpus, settings), {path.name: path for path in artifacts}), MANIFEST, out)
