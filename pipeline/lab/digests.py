"""Digests of files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def of_file(path: Path) -> str:
    """SHA-256 of the file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
