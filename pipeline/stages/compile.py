"""Compile C programs with and without the last scheduling pass, and pair the blocks."""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.compiled.archives import c_files, prepare
from pipeline.blocks.compiled.compiled_blocks import Gathering
from pipeline.blocks.compiled.compiler import Compiler, unpack
from pipeline.blocks.compiled.selection import Observed, select
from pipeline.blocks.corpus.fetch import cached
from pipeline.blocks.corpus.unique import REPETITIVE, first_of_each, groups, joined
from pipeline.config.corpus import Compiled, FolderSource, WheelSource
from pipeline.config.section import section
from pipeline.stages import options


def main(
    settings: options.Settings,
    blocks: options.Out,
    input_orders: options.Out,
    skipped: options.Out,
    statistics: options.Out,
    cores: options.Cores = 1,
) -> None:
    """The scheduler's true input: blocks in the order before GCC's last scheduling pass, and after it.

    Every C file is compiled twice, with options that differ in -fno-schedule-insns2 alone; blocks are paired by their
    place in the function and kept where both have the same instructions and the earlier order is legal by the
    dependencies of the later one (mode full). Sources and compiler are pinned and kept in .cache/artifacts; sources
    come through apt-get, without a change to the system. Needed besides: an assembler, a linker and the C library's
    headers (Debian: apt-get install binutils libc6-dev). A file that does not compile is skipped by name. Nothing
    that is compiled is ever run.
    """
    logging.basicConfig(format="%(message)s")
    wanted = section(Compiled, settings)
    artifacts = {
        name: Path(one.artifact.path) if isinstance(one.artifact, FolderSource) else cached(one.artifact)
        for name, one in sorted(wanted.programs.items())
    }
    wheel = cached(wanted.compiler) if isinstance(wanted.compiler, WheelSource) else None
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        gcc = str(unpack(wheel, work / "gcc")) if wheel else "gcc"
        compiler = Compiler(gcc, tuple(wanted.flags))
        compiler.check(work)
        gathering = Gathering(wanted, compiler)
        for name, artifact in artifacts.items():
            prepare(wanted.programs[name], artifact, work / "programs" / name)
        total = sum(len(c_files(one, work / "programs" / name)) for name, one in wanted.programs.items())
        found, observed = [], Observed()
        with tqdm(desc="C files", total=total, unit="file", file=sys.stderr, mininterval=1.0) as progress:
            for name in artifacts:
                for file in gathering.files(name, work / "programs" / name, work, cores):
                    progress.update()
                    if file is not None:
                        found.append(file.table)
                        observed.update((name, *pair) for pair in zip(file.block_ids, file.orders, strict=True))
    if not found:
        raise ValueError(f"no C file gave a block; the first: {gathering.skipped()['reason'].head(1).to_list()}")
    distinct = first_of_each(joined(found))
    selection = select(distinct.cast(tables.SCHEMAS["blocks"]), observed)
    kept = distinct.filter(pc.is_in(distinct["block_id"], pa.array(selection.orders["block_id"], pa.string())))
    with tables.writing("blocks", blocks, REPETITIVE) as append:
        for group in groups(kept):
            append(group)
        tables.write(selection.orders, "input_orders", input_orders)
        tables.write(gathering.skipped(), "skipped", skipped)
        counts = sorted((gathering.counts + selection.counts).items())
        rows = [(wanted.source, *key, float(value)) for key, value in counts]
        tables.write(pd.DataFrame(rows, columns=tables.SCHEMAS["corpus"].names), "corpus", statistics)
