"""A table: its name, its columns, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """Chapters declare theirs in `tables.py`; stages import what they read and write."""

    name: str
    schema: pa.Schema
    place: str | None = None  # pattern of its path, with names of params.yaml in braces; None: it is only published
