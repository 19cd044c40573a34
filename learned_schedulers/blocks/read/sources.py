"""The ELF files inside an artifact: their names, sizes and bytes."""

from __future__ import annotations

import fnmatch
import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from learned_schedulers.blocks.read.source_settings import BhiveSource, Corpus, FilesSource, Source, WheelSource

if TYPE_CHECKING:  # the console command starts without it
    import pandas as pd

ELF_MAGIC = b"\x7fELF"


class SourceError(ValueError):
    """An artifact cannot be read; the message names it and the remedy."""


class Program(NamedTuple):
    """One file of code: its path inside the artifact (or on disk), the file on disk that holds it, its size."""

    name: str
    artifact: str
    size_bytes: int


def _damaged(path: Path, error: Exception) -> SourceError:
    return SourceError(f"{path} is damaged ({error}); delete it and run the pipeline again, which downloads it")


def _matches(name: str, patterns: list[str]) -> bool:
    return any(re.match(fnmatch.translate(pattern), name) for pattern in patterns)


def _wheel_programs(artifact: Path, include: list[str]) -> list[Program]:
    programs = []
    try:
        with zipfile.ZipFile(artifact) as wheel:
            for member in wheel.infolist():
                if not member.is_dir() and _matches(member.filename, include):
                    with wheel.open(member) as file:
                        if file.read(4) == ELF_MAGIC:
                            programs.append(Program(member.filename, str(artifact), member.file_size))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _damaged(artifact, error) from error
    return programs


def _listed_programs(artifact: Path) -> list[Program]:
    try:
        return [
            Program(listing["path"], listing["path"], listing["size_bytes"])
            for listing in json.loads(artifact.read_text())
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(artifact, error) from error


def programs(source: Source, artifact: Path) -> list[Program]:
    """The ELF files of a source, sorted by name. Raises SourceError if the artifact is damaged."""
    if isinstance(source, WheelSource):
        files = _wheel_programs(artifact, source.include)
    elif isinstance(source, (FilesSource, BhiveSource)):
        files = _listed_programs(artifact)
    else:
        files = [Program(source.include[0], str(artifact), artifact.stat().st_size)]
    return sorted(files)


def read_program(source: Source, artifact: Path, name: str) -> bytes:
    """The bytes of one ELF file. Raises SourceError if the artifact is missing or damaged."""
    try:
        if isinstance(source, WheelSource):
            with zipfile.ZipFile(artifact) as wheel:
                return wheel.read(name)
        return artifact.read_bytes()
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise _damaged(artifact, error) from error
    except FileNotFoundError as error:
        raise SourceError(f"{artifact} is missing; put it back, or run the pipeline again without it") from error


def distribute(corpus: Corpus, artifacts: dict[str, Path]) -> pd.DataFrame:
    """Table `manifest`: every ELF file of every source, distributed largest first to the lightest shard.

    `artifacts`: source name -> the file that stage `fetch` wrote. Equal inputs give equal shards.
    Raises SourceError if an artifact is damaged or no source contains an ELF file.
    """
    import pandas as pd

    manifest_rows = [
        (name, *program)
        for name, source in sorted(corpus.sources.items())
        for program in programs(source, artifacts[name])
    ]
    if not manifest_rows:
        raise SourceError(
            f"no source contains an ELF file that its include patterns match ({', '.join(sorted(corpus.sources))}); "
            "correct corpus.sources in params.yaml"
        )
    return distributed(
        pd.DataFrame(manifest_rows, columns=["source", "program", "artifact", "size_bytes"]), corpus.shards
    )


def distributed(files: pd.DataFrame, shards: int) -> pd.DataFrame:
    """Rows of table `manifest` for files without column `shard`, distributed largest first to the lightest shard."""
    files = files.sort_values(["size_bytes", "source", "program"], ascending=[False, True, True])
    bytes_of_shard = [0] * shards
    shard_of_file = []
    for size in files["size_bytes"]:
        lightest = bytes_of_shard.index(min(bytes_of_shard))
        bytes_of_shard[lightest] += size
        shard_of_file.append(lightest)
    return files.assign(shard=shard_of_file).sort_values(["source", "program"], ignore_index=True)
