"""The files of the frozen sets, each known by its SHA-256."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent / "frozen"
DIGESTS = "digests.txt"  # SHA-256 of each file, as sha256sum writes them


def checked(path: Path) -> bytes:
    """The content of a frozen file. Raises ValueError for another one than the frozen one."""
    content = path.read_bytes()
    frozen = {line.split()[1]: line.split()[0] for line in (path.parent / DIGESTS).read_text().splitlines()}
    if hashlib.sha256(content).hexdigest() != frozen.get(path.name):
        raise ValueError(f"its SHA-256 is another one than in {DIGESTS}")
    return content
