"""Compile C programs with and without the last scheduling pass, and pair the blocks."""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from tqdm import tqdm

from learned_schedulers.blocks.read.source_settings import Compiled, FolderSource, WheelSource
from learned_schedulers.section import section
from pipeline.corpus.compiled.archives import c_files, prepare
from pipeline.corpus.compiled.compiled_blocks import ProgramCompiler
from pipeline.corpus.compiled.compiler import Compiler, unpack
from pipeline.corpus.compiled.selection import Observed, select
from pipeline.corpus.fetch import cached
from pipeline.corpus.tables import BLOCKS, CORPUS, INPUT_ORDERS, SKIPPED
from pipeline.corpus.unique import REPETITIVE, first_of_each, groups, joined
from pipeline.lab import tables
from pipeline.lab.stages import options


def main(
    settings: options.Settings,
    blocks: options.Out,
    input_orders: options.Out,
    skipped: options.Out,
    statistics: options.Out,
    cores: options.Cores = 1,
) -> None:
    """Write blocks in the order before GCC's last scheduling pass, the scheduler's true input, and in the order after.

    The stage compiles every C file twice, with options that differ in -fno-schedule-insns2 alone. It pairs blocks by
    their place in the function. A pair stays if both blocks have the same instructions and the earlier order is legal
    by the dependencies of the later one (mode full). Sources and compiler are pinned and cached in .cache/artifacts;
    apt-get brings the sources, without a change to the system. Also needed: an assembler, a linker and the C library's
    headers (Debian: apt-get install binutils libc6-dev). A file that does not compile is skipped, and its name is
    recorded. No compiled program ever runs.
    """
    logging.basicConfig(format="%(message)s")
    chosen = section(Compiled, settings)
    artifacts = {
        name: Path(program.artifact.path) if isinstance(program.artifact, FolderSource) else cached(program.artifact)
        for name, program in sorted(chosen.programs.items())
    }
    wheel = cached(chosen.compiler) if isinstance(chosen.compiler, WheelSource) else None
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        gcc = str(unpack(wheel, work / "gcc")) if wheel else "gcc"
        compiler = Compiler(gcc, tuple(chosen.flags))
        compiler.check(work)
        gathering = ProgramCompiler(chosen, compiler)
        for name, artifact in artifacts.items():
            prepare(chosen.programs[name], artifact, work / "programs" / name)
        total = sum(len(c_files(program, work / "programs" / name)) for name, program in chosen.programs.items())
        pieces, observed = [], Observed()
        with tqdm(desc="C files", total=total, unit="file", file=sys.stderr, mininterval=1.0) as progress:
            for name in artifacts:
                for file in gathering.files(name, work / "programs" / name, work, cores):
                    progress.update()
                    if file is not None:
                        pieces.append(file.table)
                        observed.update((name, *pair) for pair in zip(file.block_ids, file.orders, strict=True))
    if not pieces:
        raise ValueError(f"no C file gave a block; the first: {gathering.skipped()['reason'].head(1).to_list()}")
    distinct = first_of_each(joined(pieces))
    selection = select(distinct.cast(BLOCKS.schema), observed)
    selected = distinct.filter(pc.is_in(distinct["block_id"], pa.array(selection.orders["block_id"], pa.string())))
    with tables.writing(BLOCKS, blocks, REPETITIVE) as append:
        for group in groups(selected):
            append(group)
        tables.write(selection.orders, INPUT_ORDERS, input_orders)
        tables.write(gathering.skipped(), SKIPPED, skipped)
        counts = sorted((gathering.counts + selection.counts).items())
        tables.write_rows([(chosen.source, *key, float(value)) for key, value in counts], CORPUS, statistics)
