"""C programs -> blocks as GCC schedules them, each with the order that is the scheduler's input."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from learned_schedulers.blocks.read.cut import Blocks
from learned_schedulers.blocks.read.elf import Image, read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.source_settings import Compiled
from learned_schedulers.blocks.read.unreadable import Unreadable
from pipeline.corpus.compiled.archives import c_files
from pipeline.corpus.compiled.compiler import UNSCHEDULED, Compiler
from pipeline.corpus.compiled.pairing import Pairs, pair
from pipeline.corpus.program_rows import binary_array, block_ids, table_of

_log = logging.getLogger(__name__)
_NO_SECOND_COMPILER = "(?!)"  # a pattern that matches nothing


class Objects(NamedTuple):
    """The output of GCC and the linker for one C file."""

    scheduled: bytes
    unscheduled: bytes
    linked: bytes  # of `scheduled`


def _objects(compiler: Compiler, file: str, flags: tuple[str, ...], folder: Path, scratch: Path) -> Objects:
    """Compile one file twice, with options that differ in the last scheduling pass alone."""
    with tempfile.TemporaryDirectory(dir=scratch) as temporary:
        before, after = Path(temporary, "before.o"), Path(temporary, "after.o")
        return Objects(
            unscheduled=compiler.compile(file, (*flags, UNSCHEDULED), folder, before),
            scheduled=compiler.compile(file, flags, folder, after),
            linked=compiler.link(after, Path(temporary, "linked")),
        )


def with_addresses(object_blocks: list[Blocks], linked: Image) -> list[Blocks]:
    """The blocks of an object file with their bytes and addresses in the linked file; the masks stay the same.

    Raises Unreadable if the linker changed code: it relaxed an instruction, or joined sections.
    """
    sections = {section.name: section for section in linked.sections}
    linked_blocks = []
    for blocks in object_blocks:
        section = sections.get(blocks.section)
        if section is None or len(section.code) != len(blocks.code):
            raise Unreadable("the linker changed the code's sections", "exclude the file in params.yaml")
        code = np.frombuffer(section.code, np.uint8)
        is_unmasked = blocks.masked != 0  # the linker may fill in masked bytes, which are zeros
        if (code[is_unmasked] != blocks.masked[is_unmasked]).any():
            raise Unreadable("the linker changed instructions", "exclude the file in params.yaml")
        linked_blocks.append(blocks._replace(code=code, address=blocks.begin + section.address))
    return linked_blocks


class FileBlocks(NamedTuple):
    """The distinct paired blocks of one C file, and block and order of every pair."""

    table: pa.Table  # schema `blocks`
    block_ids: list[str]  # of every pair
    orders: list[tuple[int, ...]]


class ProgramCompiler:
    """Compiles files one after the other, and collects counts and skipped files."""

    def __init__(self, settings: Compiled, compiler: Compiler) -> None:
        self._settings, self._compiler = settings, compiler
        self._forms = Forms()
        self._skipped: list[tuple[str, str, str, str]] = []
        self.counts: Counter[tuple[str, str, str]] = Counter()  # program, statistic, bin

    def skipped(self) -> pd.DataFrame:
        """Table `skipped`: the files so far that gave no block, and the reasons."""
        return pd.DataFrame(self._skipped, columns=["source", "program", "reason", "remedy"])

    def _skip(self, program: str, file: str, error: Unreadable) -> None:
        self._skipped.append((self._settings.source, f"{program}/{file}", error.reason, error.remedy))
        self.counts[program, "files_skipped", ""] += 1
        _log.warning("skipped %s/%s: %s; %s", program, file, error.reason, error.remedy)

    def _count(self, program: str, pairs: Pairs) -> None:
        for statistic, value in (
            ("functions", pairs.functions),
            ("functions_unpaired", pairs.unpaired_functions),
            ("blocks", pairs.candidates),
            ("blocks_paired", len(pairs.orders)),
        ):
            self.counts[program, statistic, ""] += value
        for reason, count in pairs.unpaired.items():
            self.counts[program, "blocks_unpaired", reason] += count

    def _read(self, data: bytes) -> Image:
        return read_image(data, self._settings.comment, _NO_SECOND_COMPILER)

    def _blocks(self, program: str, file: str, objects: Objects) -> FileBlocks:
        scheduled, settings = self._read(objects.scheduled), self._settings
        lengths = settings.min_instructions, settings.max_instructions
        pairs = pair(scheduled, self._read(objects.unscheduled), *lengths, self._forms)
        linked = self._read(objects.linked)
        self._count(program, pairs)
        if not pairs.orders:
            raise Unreadable(f"no pair of blocks of {lengths[0]} to {lengths[1]} instructions", "leave it so")
        linked_blocks = with_addresses(pairs.blocks, linked)
        masked = [
            section.masked[begin:end]
            for section in linked_blocks
            for begin, end in zip(section.begin, section.end, strict=True)
        ]
        ids = block_ids(binary_array(masked, np.array([len(code) for code in masked])))
        table = table_of(settings.source, f"{program}/{file}", scheduled.compiler, False, linked_blocks)
        return FileBlocks(table, ids.to_pylist(), pairs.orders)

    def files(self, program: str, folder: Path, scratch: Path, cores: int) -> Iterator[FileBlocks | None]:
        """The program's files, sorted by name; None for a skipped file.

        `folder`: the unpacked program. The results do not depend on the number of `cores`.
        """
        settings = self._settings.programs[program]
        file_names = c_files(settings, folder)
        pool = ThreadPoolExecutor(cores)
        try:
            futures = [
                pool.submit(_objects, self._compiler, name, tuple(settings.flags), folder, scratch)
                for name in file_names
            ]
            for name, future in zip(file_names, futures, strict=True):
                self.counts[program, "files", ""] += 1
                try:
                    yield self._blocks(program, name, future.result())
                except Unreadable as error:
                    self._skip(program, name, error)
                    yield None
        finally:
            pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C the other files are not needed
