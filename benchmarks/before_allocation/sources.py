"""Sources of the projects: Debian's upstream tarballs, pinned by sha256, with the headers that we write."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipeline.corpus.debian import download


class SourceError(ValueError):
    """A source cannot be fetched, or is another one than is pinned."""


def unpacked(name: str, project: dict[str, Any], cache: Path) -> Path:
    """The folder of a project's source, with the headers of projects.yaml, after its lines to prepare it.

    Raises SourceError that says which file is to be put where.
    """
    folder = cache / "sources" / name
    archive = _archive(project["source"], cache)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["tar", "xf", archive, "-C", folder, "--strip-components=1"], check=True)
    for path, text in project.get("headers", {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    if lines := "\n".join(project.get("prepare", ())):
        environment = {**os.environ, "CC": "clang", "CXX": "clang++"}
        command = ["bash", "-e", "-o", "pipefail", "-c", lines]
        answer = subprocess.run(command, cwd=folder, env=environment, stdout=sys.stderr, check=False)
        if answer.returncode:
            raise SourceError(f"{name}: a line of `prepare` in projects.yaml failed: {lines.splitlines()}")
    return folder


def _archive(pinned: dict[str, str], cache: Path) -> Path:
    """The tarball, fetched unless it is in the cache."""
    path = cache / "archives" / pinned["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        download(pinned["package"], pinned["file"], path.parent, cache / "index")
    if not path.exists():
        package = f"{pinned['package']} {pinned['version']}"
        raise SourceError(f"{path.name} was not fetched; put it into {path.parent} (Debian's source of {package})")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != pinned["sha256"]:
        raise SourceError(f"{path}: its sha256 is {digest}; {pinned['sha256']} is pinned; delete it and run again")
    return path
