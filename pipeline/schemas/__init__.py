"""Schemas of all tables: one file for each table, with its columns, their types and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pyarrow as pa


class _Schemas(Mapping[str, pa.Schema]):
    """Name of a table -> the `SCHEMA` of its file, read on first access."""

    def __getitem__(self, name: str) -> pa.Schema:
        if name not in _names():
            raise KeyError(f"no table {name!r}; pipeline/schemas has {sorted(_names())}")
        return import_module(f"pipeline.schemas.{name}").SCHEMA

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_names()))

    def __len__(self) -> int:
        return len(_names())


@cache
def _names() -> frozenset[str]:
    return frozenset(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")


SCHEMAS: Mapping[str, pa.Schema] = _Schemas()
