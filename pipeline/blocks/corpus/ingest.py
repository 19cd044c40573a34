"""The files of one shard -> runs of blocks, and a table of what was skipped, and why."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from pipeline.blocks.corpus import bhive
from pipeline.blocks.corpus.cut import Blocks, blocks
from pipeline.blocks.corpus.elf import read_image
from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.corpus.program_rows import table_of
from pipeline.blocks.corpus.sources import UnusableFile, read_program
from pipeline.blocks.corpus.unique import first_of_each, joined
from pipeline.config.corpus import BhiveSource, Corpus

_log = logging.getLogger(__name__)
_RUN_ROWS = 1 << 18  # bounds the memory, some 50 MB


class Ingestion:
    """Reads files, rows of table `manifest`, one after the other; `skipped` fills on the way."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._forms = Forms()
        self._skipped: list[tuple[str, str, str, str]] = []

    def skipped(self) -> pd.DataFrame:
        """Table `skipped`: the files so far that could not be used, or gave no block."""
        return pd.DataFrame(self._skipped, columns=["source", "program", "reason", "remedy"])

    def _skip(self, source: str, program: str, reason: str, remedy: str) -> None:
        self._skipped.append((source, program, reason, remedy))
        _log.warning("skipped %s: %s: %s; %s", source, program, reason, remedy)

    def _found(self, name: str, program: str, data: bytes) -> tuple[str, bool, list[Blocks]]:
        """Compiler, whether its addresses are not known, and the blocks of one program or file of blocks."""
        corpus, source = self._corpus, self._corpus.sources[name]
        lengths = corpus.min_instructions, corpus.max_instructions
        if isinstance(source, BhiveSource):
            found, bad = bhive.blocks(data, *lengths, self._forms)
            for reason, remedy in bad:
                self._skip(name, program, reason, remedy)
            return bhive.COMPILER, True, [found]
        image = read_image(data, corpus.compiler, corpus.start_up_compiler, source.text_share)
        return image.compiler, image.relocatable, list(blocks(image, *lengths, self._forms))

    def _program(self, name: str, program: str, artifact: str) -> pa.Table | None:
        """The distinct blocks of one program."""
        try:
            data = read_program(self._corpus.sources[name], Path(artifact), program)
            compiler, relocatable, found = self._found(name, program, data)
            if not any(len(section.begin) for section in found):
                lengths = f"{self._corpus.min_instructions} to {self._corpus.max_instructions}"
                raise UnusableFile(
                    f"no block of {lengths} instructions",
                    "widen corpus.min_instructions and max_instructions in params.yaml, or leave it",
                )
        except UnusableFile as error:
            self._skip(name, program, error.reason, error.remedy)
            return None
        return table_of(name, program, compiler, relocatable, found)

    def runs(self, files: pd.DataFrame) -> Iterator[pa.Table]:
        """The files' blocks in runs that are sorted by block_id and have each of them once.

        A file that cannot be used becomes a row of `skipped`; the others go on.
        Raises SourceError where an artifact itself is gone or damaged.
        """
        gathered: list[pa.Table] = []
        columns = [files[column].tolist() for column in ("source", "program", "artifact", "size_bytes")]
        with tqdm(desc="files", total=sum(columns[3]), unit="B", unit_scale=True, mininterval=1.0) as progress:
            for name, program, artifact, size in zip(*columns, strict=True):
                table = self._program(name, program, artifact)
                progress.update(size)
                if table is not None:
                    gathered.append(table)
                if sum(table.num_rows for table in gathered) >= _RUN_ROWS:
                    yield first_of_each(joined(gathered))
                    gathered = []
        if gathered:
            yield first_of_each(joined(gathered))
