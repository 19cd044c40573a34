"""A program's archive -> a folder in which its C files compile."""

from __future__ import annotations

import fnmatch
import re
import shutil
import tarfile
from pathlib import Path
from typing import IO

from learned_schedulers.blocks.read.source_settings import CProgram, FolderSource, NpmSource
from learned_schedulers.blocks.read.sources import SourceError


def _inside(folder: Path, name: str, origin: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise SourceError(f"{origin}: {name} leads out of the program's folder; correct it in params.yaml")
    return path


def _unpack(artifact: Path, folder: Path) -> None:
    """Unpack the archive to `folder`, without its top folder if it has one; a link becomes a copy of its target."""
    unpacked = folder.with_name(folder.name + ".unpacked")
    unpacked.mkdir(parents=True, exist_ok=True)
    try:
        # Unpack member by member: tarfile's filter needs Python 3.11.4, and Debian 12 has 3.11.2.
        with tarfile.open(artifact) as archive:
            for member in archive:
                content = _content(archive, member)
                if content is not None:
                    target = _inside(unpacked, member.name, str(artifact))
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with content, target.open("wb") as out:
                        shutil.copyfileobj(content, out)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise SourceError(f"{artifact} cannot be unpacked ({error}); delete it and start again") from error
    top_entries = list(unpacked.iterdir())
    (top_entries[0] if len(top_entries) == 1 and top_entries[0].is_dir() else unpacked).rename(folder)
    shutil.rmtree(unpacked, ignore_errors=True)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes] | None:
    """The content of a file or of a link's target; None for folders, broken links and links to themselves."""
    try:
        return archive.extractfile(member)
    except (KeyError, RecursionError):
        return None


def prepare(program: CProgram, artifact: Path, folder: Path) -> None:
    """Unpack the program to `folder`, new, and add the files that the program's build would generate.

    `artifact`: the tarball, the single C file of the npm package, or the user's folder.
    Raises SourceError if the archive is damaged, or if a file of `copies` or `overlay` is missing.
    """
    if isinstance(program.artifact, FolderSource):
        if not artifact.is_dir():
            raise SourceError(f"{artifact} is not a folder; correct compiled.programs in params.yaml")
        shutil.copytree(artifact, folder)
    elif isinstance(program.artifact, NpmSource):
        folder.mkdir(parents=True)
        shutil.copyfile(artifact, folder / Path(program.artifact.include[0]).name)
    else:
        _unpack(artifact, folder)
    for name, original in program.copies.items():
        if not _inside(folder, original, "copies").is_file():
            raise SourceError(f"{artifact} does not contain {original}; correct copies in params.yaml")
        target = _inside(folder, name, "copies")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / original, target)
    if program.overlay is not None:
        if not Path(program.overlay).is_dir():
            raise SourceError(f"{program.overlay} is not a folder; correct overlay in params.yaml")
        shutil.copytree(program.overlay, folder, dirs_exist_ok=True)


def c_files(program: CProgram, folder: Path) -> list[str]:
    """The C files to compile, relative to `folder`, sorted: those that match `sources` and not `exclude`.

    Raises SourceError if there is none.
    """
    excluded = [re.compile(fnmatch.translate(pattern)) for pattern in program.exclude]
    matching = {path.relative_to(folder).as_posix() for pattern in program.sources for path in folder.glob(pattern)}
    names = sorted(name for name in matching if not any(pattern.match(name) for pattern in excluded))
    if not names:
        raise SourceError(f"no C file matches {program.sources}; correct sources in params.yaml")
    return names
