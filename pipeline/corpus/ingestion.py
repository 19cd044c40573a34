"""The files of one shard -> runs of blocks, and a table of the skipped files with the reasons."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from learned_schedulers.blocks.read import bhive
from learned_schedulers.blocks.read.cut import Blocks, blocks
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.source_settings import BhiveSource, Corpus
from learned_schedulers.blocks.read.sources import read_program
from learned_schedulers.blocks.read.unreadable import Unreadable
from pipeline.corpus.program_rows import table_of
from pipeline.corpus.unique import first_of_each, joined

_log = logging.getLogger(__name__)
_RUN_ROWS = 1 << 18  # limits the memory to some 50 MB
_PIECE_BYTES = 1 << 22  # of a file of lines; some 60,000 blocks


class Ingestion:
    """Reads files, rows of table `manifest`, one after the other, and collects the skipped ones."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._forms = Forms()
        self._skipped: list[tuple[str, str, str, str]] = []

    def skipped(self) -> pd.DataFrame:
        """Table `skipped`: the files so far that cannot be used or contain no block."""
        return pd.DataFrame(self._skipped, columns=["source", "program", "reason", "remedy"])

    def _skip(self, source: str, program: str, reason: str, remedy: str) -> None:
        self._skipped.append((source, program, reason, remedy))
        _log.warning("skipped %s: %s: %s; %s", source, program, reason, remedy)

    def _blocks_of(self, name: str, program: str, data: bytes) -> tuple[str, bool, list[Blocks]]:
        """Compiler, whether the addresses are unknown, and the blocks, by section, of one program or file of blocks."""
        corpus, source = self._corpus, self._corpus.sources[name]
        lengths = corpus.min_instructions, corpus.max_instructions
        if isinstance(source, BhiveSource):
            csv_blocks, bad_rows = bhive.blocks(data, *lengths, self._forms)
            for reason, remedy in bad_rows:
                self._skip(name, program, reason, remedy)
            return bhive.COMPILER, True, [csv_blocks]
        image = read_image(data, corpus.compiler, corpus.start_up_compiler, source.text_share)
        return image.compiler, image.relocatable, list(blocks(image, *lengths, self._forms))

    def _is_in_lines(self, name: str, program: str, artifact: Path) -> bool:
        """Whether the file has a block on each line, so that it can be read in pieces."""
        return isinstance(self._corpus.sources[name], BhiveSource)

    def _parts(self, name: str, program: str, artifact: Path) -> Iterator[tuple[str, bool, list[Blocks]]]:
        """As `_blocks_of`, of a program, or of one piece after the other of a long file of lines."""
        is_long = artifact.is_file() and artifact.stat().st_size > _PIECE_BYTES
        if not (is_long and self._is_in_lines(name, program, artifact)):
            yield self._blocks_of(name, program, read_program(self._corpus.sources[name], artifact, program))
            return
        lengths = self._corpus.min_instructions, self._corpus.max_instructions
        for first_line, data in bhive.pieces(artifact, _PIECE_BYTES):
            csv_blocks, bad_rows = bhive.blocks(data, *lengths, self._forms, first_line)
            for reason, remedy in bad_rows:
                self._skip(name, program, reason, remedy)
            yield bhive.COMPILER, True, [csv_blocks]

    def _tables(self, name: str, program: str, artifact: str) -> Iterator[pa.Table]:
        """The distinct blocks of one program, or of one piece after the other; nothing if it is skipped."""
        empty = True
        try:
            for compiler, relocatable, sections in self._parts(name, program, Path(artifact)):
                if any(len(section.begin) for section in sections):
                    empty = False
                    yield table_of(name, program, compiler, relocatable, sections)
            if empty:
                lengths = f"{self._corpus.min_instructions} to {self._corpus.max_instructions}"
                raise Unreadable(
                    f"no block of {lengths} instructions",
                    "widen corpus.min_instructions and max_instructions in params.yaml, or leave it",
                )
        except Unreadable as error:
            self._skip(name, program, error.reason, error.remedy)

    def runs(self, files: pd.DataFrame) -> Iterator[pa.Table]:
        """The files' blocks in runs; each run is sorted by block_id and has one row per block.

        A file that cannot be used becomes a row of `skipped`, and the next file follows.
        Raises SourceError if an artifact itself is missing or damaged.
        """
        tables: list[pa.Table] = []
        columns = [files[column].tolist() for column in ("source", "program", "artifact", "size_bytes")]
        with tqdm(desc="files", total=sum(columns[3]), unit="B", unit_scale=True, mininterval=1.0) as progress:
            for name, program, artifact, size in zip(*columns, strict=True):
                for table in self._tables(name, program, artifact):
                    tables.append(table)
                    if sum(table.num_rows for table in tables) >= _RUN_ROWS:
                        yield first_of_each(joined(tables))
                        tables = []
                progress.update(size)
        if tables:
            yield first_of_each(joined(tables))
