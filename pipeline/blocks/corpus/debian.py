"""Upstream tarballs of Debian source packages, through apt-get, without touching the system's configuration.

Why apt-get and not sdists or npm packages that carry C: the classic programs are all in one archive, as their authors
released them, and apt-get is there on any Debian. A fresh system lists no source packages (`deb-src`), and editing
its lists is not ours to do: copies of them, with `deb-src` for `deb`, go into a cache folder of ours with an index
of their own. So no host is named here. Only the upstream tarball is taken (`--tar-only`), pinned by its own sha256:
a new revision of the package, with other patches, leaves it as it is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

_SYSTEM = Path("/etc/apt")


def sources_of(text: str, suffix: str) -> str:
    """A list of binary packages as the same list of source packages; `suffix`: .list | .sources, its two formats."""
    if suffix == ".sources":
        return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
    entries = [re.sub(r"^deb(-src)?\s", "deb-src ", line) for line in text.splitlines() if line.startswith("deb")]
    return "".join(f"{entry}\n" for entry in dict.fromkeys(entries))


def private_lists(folder: Path, system: Path = _SYSTEM) -> list[str]:
    """Options that make apt-get read source packages by lists and an index in `folder`."""
    parts = folder / "sources"
    shutil.rmtree(parts, ignore_errors=True)
    for needed in (parts, folder / "lists" / "partial", folder / "cache" / "archives" / "partial"):
        needed.mkdir(parents=True, exist_ok=True)
    for path in [system / "sources.list", *sorted((system / "sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources") and path.is_file():
            (parts / path.name).write_text(sources_of(path.read_text(), path.suffix))
    places = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": parts.resolve(),
        "Dir::State::lists": (folder / "lists").resolve(),
        "Dir::Cache": (folder / "cache").resolve(),
    }
    return ["-q", *(word for name, place in places.items() for word in ("-o", f"{name}={place}"))]


def download(package: str, file: str, folder: Path, index: Path) -> Path | None:
    """Download the upstream tarball `file` of a source package into `folder`; None where it cannot be had.

    `index`: folder for the private lists, kept between calls. apt-get's own words go to stderr.
    Raises FileNotFoundError where there is no apt-get.
    """
    options = private_lists(index)
    get = ["apt-get", *options, "source", "--download-only", "--tar-only", package]
    # The index may be missing or old: then once more with a new one. One list of several may fail to update.
    for command in (get, ["apt-get", *options, "update"], get):
        subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False)
        if (folder / file).is_file():
            return folder / file
    return None
