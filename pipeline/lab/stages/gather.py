"""Many tables of one kind as one frame; the names in their paths (experiment, seed ...) become columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc

from pipeline.lab import places, tables
from pipeline.lab.table import Table


def gather(
    table: Table, paths: Iterable[Path], columns: list[str] | None = None, filters: pc.Expression | None = None
) -> pd.DataFrame:
    """Rows of all these tables that pass the filter, after a column for each name in their paths.

    Raises TableError for a missing or damaged table, ValueError for a path of another form.
    """
    frames = []
    for path in paths:
        frame = tables.read(table, path, columns, filters)
        names = places.place(path, table.name)
        frames.append(frame.assign(**names)[[*names, *(name for name in frame.columns if name not in names)]])
    if frames:
        return pd.concat(frames, ignore_index=True)
    empty = table.schema.empty_table().to_pandas()[columns or table.schema.names]
    return pd.DataFrame({name: pd.Series(dtype="str") for name in places.names(table.name)} | dict(empty))
