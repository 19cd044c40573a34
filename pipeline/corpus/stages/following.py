"""The instructions that follow every block in its program."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.source_settings import BhiveSource, Corpus
from learned_schedulers.blocks.read.sources import read_program
from learned_schedulers.section import section
from pipeline.corpus.following import Following, of_blocks
from pipeline.corpus.tables import BLOCKS, FOLLOWING, MANIFEST
from pipeline.lab import tables
from pipeline.lab.stages import options


def main(settings: options.Settings, manifest: options.Table, blocks: options.Blocks, out: options.Out) -> None:
    """Find every block in its program again and write the next four instructions after it, masked like the block.

    They continue past calls and conditional branches; they end after a jump or a return, at a byte that is no
    instruction, or with the function. Blocks from lines of CSV have none. The stage fails with the name of a program
    that no longer contains its blocks: fetch and ingest anew.
    """
    corpus = section(Corpus, settings)
    columns = ["block_id", "source", "program", "section", "address", "code"]
    listed = tables.arrow(BLOCKS, blocks, columns)
    code = listed["code"].combine_chunks()
    places = listed.drop_columns(["block_id", "code"]).to_pandas()
    groups = places.groupby(["source", "program"]).indices
    files = tables.read(MANIFEST, manifest).set_index(["source", "program"])
    for name, program in groups:
        if (name, program) not in files.index or name not in corpus.sources:
            raise ValueError(f"{name}: {program}: it has blocks, but no source contains it any more; ingest anew")
    following, forms = Following.none(len(places)), Forms()
    total = sum(int(files.size_bytes[key]) for key in groups)
    with tqdm(desc="programs", total=total, unit="B", unit_scale=True, mininterval=1.0, file=sys.stderr) as progress:
        for (name, program), rows in groups.items():
            source = corpus.sources[name]
            if not isinstance(source, BhiveSource):
                in_program, codes = places.iloc[rows], code.take(pa.array(rows)).to_pylist()
                data = read_program(source, Path(files.artifact[name, program]), program)
                try:
                    image = read_image(data, corpus.compiler, corpus.start_up_compiler, source.text_share)
                    addresses = in_program.address.to_numpy().astype(np.int64)
                    part = of_blocks(image, in_program.section.to_numpy(), addresses, codes, forms)
                except ValueError as error:
                    raise ValueError(f"{name}: {program}: {error}; fetch and ingest anew") from error
                following.lengths[rows], following.code[rows] = part
            progress.update(int(files.size_bytes[name, program]))
    with tables.writing(FOLLOWING, out) as append:
        append(pa.table([listed["block_id"].combine_chunks(), following.lists()], schema=FOLLOWING.schema))
