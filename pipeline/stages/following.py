"""What stands behind every block in its program."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.corpus.elf import read_image
from pipeline.blocks.corpus.following import Following, of_blocks
from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.corpus.sources import read_program
from pipeline.config.corpus import BhiveSource, Corpus
from pipeline.config.section import section
from pipeline.stages import options


def main(
    settings: options.Settings,
    manifest: options.Table,
    blocks: options.Blocks,
    out: options.Out,
) -> None:
    """Find every block in its program again and write the next four instructions behind it, masked as it is.

    They go on past calls and conditional branches, and end behind a jump or a return, at a byte that is no
    instruction, or with the function. Blocks that came alone, as lines of CSV, have none. A program that does not hold
    its blocks any more ends this with its name: fetch and ingest anew.
    """
    corpus = section(Corpus, settings)
    columns = ["block_id", "source", "program", "section", "address", "code"]
    known = tables.arrow("blocks", blocks, columns)
    code = known["code"].combine_chunks()
    places = known.drop_columns(["block_id", "code"]).to_pandas()
    groups = places.groupby(["source", "program"]).indices
    files = tables.read("manifest", manifest).set_index(["source", "program"])
    for name, program in groups:
        if (name, program) not in files.index or name not in corpus.sources:
            raise ValueError(f"{name}: {program}: blocks are of it, but it is in no source any more; ingest anew")
    found, forms = Following.none(len(places)), Forms()
    total = sum(int(files.size_bytes[key]) for key in groups)
    with tqdm(desc="programs", total=total, unit="B", unit_scale=True, mininterval=1.0, file=sys.stderr) as progress:
        for (name, program), rows in groups.items():
            source = corpus.sources[name]
            if not isinstance(source, BhiveSource):
                own, codes = places.iloc[rows], code.take(pa.array(rows)).to_pylist()
                data = read_program(source, Path(files.artifact[name, program]), program)
                try:
                    image = read_image(data, corpus.compiler, corpus.start_up_compiler, source.text_share)
                    addresses = own.address.to_numpy().astype(np.int64)
                    part = of_blocks(image, own.section.to_numpy(), addresses, codes, forms)
                except ValueError as error:
                    raise ValueError(f"{name}: {program}: {error}; fetch and ingest anew") from error
                found.lengths[rows], found.code[rows] = part
            progress.update(int(files.size_bytes[name, program]))
    with tables.writing("following", out) as append:
        append(pa.table([known["block_id"].combine_chunks(), found.lists()], schema=tables.SCHEMAS["following"]))
