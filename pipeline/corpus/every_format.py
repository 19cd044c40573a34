"""Ingestion that also reads assembly, objects and archives in sources of kind `bhive`."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.blocks.read.archive_file import members
from learned_schedulers.blocks.read.assembler import Refused, object_of
from learned_schedulers.blocks.read.cut import Blocks, blocks
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.recognise import recognise
from learned_schedulers.blocks.read.source_settings import BhiveSource, Corpus
from learned_schedulers.blocks.read.sources import ELF_MAGIC
from learned_schedulers.blocks.read.unreadable import Unreadable
from pipeline.corpus import ingestion as ingest

_INTEL = ("-msyntax=intel", "-mnaked-reg")
_PROBE_BYTES = 1 << 16


class Ingestion(ingest.Ingestion):
    """Reads files of every format, and collects the skipped ones.

    Objects, also those in archives and those that the assembler makes of assembly, are cut into blocks as those of
    other sources are; the file that is named in tables is the archive or the assembly.
    """

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        self._object_forms = Forms()

    def _blocks_of(self, name: str, program: str, data: bytes) -> tuple[str, bool, list[Blocks]]:
        if not isinstance(self._corpus.sources[name], BhiveSource):
            return super()._blocks_of(name, program, data)
        kind = recognise(Path(program), data[:_PROBE_BYTES])
        if kind == "elf":
            return self._of_object(data)
        if kind == "archive":
            return self._of_archive(name, program, data)
        if kind == "assembly":
            return self._of_object(_assembled(data))
        return super()._blocks_of(name, program, data)

    def _is_in_lines(self, name: str, program: str, artifact: Path) -> bool:
        if not super()._is_in_lines(name, program, artifact):
            return False
        with artifact.open("rb") as file:
            first_bytes = file.read(_PROBE_BYTES)
        try:
            return recognise(Path(program), first_bytes) == "lines"
        except Unreadable:  # `_blocks_of` says so
            return False

    def _of_object(self, data: bytes, label: str = "") -> tuple[str, bool, list[Blocks]]:
        """label: comes before the names of sections."""
        corpus = self._corpus
        image = read_image(data, corpus.compiler, corpus.start_up_compiler)
        cut = blocks(image, corpus.min_instructions, corpus.max_instructions, self._object_forms)
        return image.compiler, image.relocatable, [part._replace(section=label + part.section) for part in cut]

    def _of_archive(self, name: str, program: str, data: bytes) -> tuple[str, bool, list[Blocks]]:
        """The blocks of all members, by the compiler of the first one; members that cannot be used are skipped."""
        compilers, sections = list[str](), list[Blocks]()
        for member in members(data):
            if data.startswith(ELF_MAGIC, member.begin):
                try:
                    compiler, _, cut = self._of_object(data[member.begin : member.end], f"{member.name}:")
                except Unreadable as error:
                    self._skip(name, program, f"{member.name}: {error.reason}", error.remedy)
                else:
                    compilers.append(compiler)
                    sections += cut
        if not compilers:
            raise Unreadable(
                "no member of the archive can be used", "build its objects again, or exclude it by include"
            )
        return compilers[0], True, sections


def _assembled(text: bytes) -> bytes:
    """The object of a file of assembly, in AT&T's syntax or in Intel's."""
    try:
        return object_of(text)
    except Refused as error:
        try:
            return object_of(text, _INTEL)
        except Refused:
            raise Unreadable(f"the assembler refuses it: {error}", "correct it, or exclude it by include") from error
