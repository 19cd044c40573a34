"""Upstream tarballs of Debian source packages, fetched by apt-get, without changes to the system's configuration.

apt-get is used, and not sdists or npm packages that contain C, because one archive holds all the classic programs as
their authors released them, and every Debian has apt-get. A fresh system lists no source packages (`deb-src`), and this
module must not edit the system's lists. It therefore copies them, with `deb-src` in place of `deb`, into its own cache
folder with a separate index; so the code names no host. It downloads the upstream tarball alone (`--tar-only`), which
is pinned by its sha256: a new revision of the package changes the patches and not the tarball.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

_SYSTEM = Path("/etc/apt")


def sources_of(text: str, suffix: str) -> str:
    """The list of source packages for a list of binary packages; `suffix` tells its format: .list or .sources."""
    if suffix == ".sources":
        return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
    entries = [re.sub(r"^deb(-src)?\s", "deb-src ", line) for line in text.splitlines() if line.startswith("deb")]
    return "".join(f"{entry}\n" for entry in dict.fromkeys(entries))


def private_lists(folder: Path, system: Path = _SYSTEM) -> list[str]:
    """Options that make apt-get use the lists and the index of source packages in `folder`."""
    sources = folder / "sources"
    shutil.rmtree(sources, ignore_errors=True)
    for subfolder in (sources, folder / "lists" / "partial", folder / "cache" / "archives" / "partial"):
        subfolder.mkdir(parents=True, exist_ok=True)
    for path in [system / "sources.list", *sorted((system / "sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources") and path.is_file():
            (sources / path.name).write_text(sources_of(path.read_text(), path.suffix))
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": sources.resolve(),
        "Dir::State::lists": (folder / "lists").resolve(),
        "Dir::Cache": (folder / "cache").resolve(),
    }
    return ["-q", *(word for name, setting in settings.items() for word in ("-o", f"{name}={setting}"))]


def download(package: str, file: str, folder: Path, index: Path) -> Path | None:
    """Download the upstream tarball `file` of a source package into `folder`; None if apt-get does not deliver it.

    `index`: folder of the private lists, reused by later calls. The output of apt-get goes to stderr.
    Raises FileNotFoundError if apt-get is not installed.
    """
    options = private_lists(index)
    download_command = ["apt-get", *options, "source", "--download-only", "--tar-only", package]
    # The index may be missing or old: then update it and try again. The update may fail for some of the lists.
    for command in (download_command, ["apt-get", *options, "update"], download_command):
        subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False)
        if (folder / file).is_file():
            return folder / file
    return None
