"""Parquet tables of the chapters' `tables.py`: validated on write and on read; written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from learned_schedulers.files import replacing
from pipeline.lab.table import Table

if TYPE_CHECKING:  # the console command starts without it
    import pandas as pd


class TableError(ValueError):
    """A file is not the expected table; the message names the file, the fault and the remedy."""


def write(frame: pd.DataFrame, table: Table, path: Path) -> None:
    """Write `frame` as this table to `path`: same rows, same bytes.

    Raises TableError where a column is missing, unknown or of the wrong type.
    """
    schema = table.schema
    if set(frame.columns) != set(schema.names):
        missing = sorted(set(schema.names) - set(frame.columns))
        unknown = sorted(set(frame.columns) - set(schema.names))
        raise TableError(f"{path}: not a table of {table.name}: missing columns {missing}, unknown columns {unknown}")
    try:
        content = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(f"{path}: a column does not fit the schema of {table.name}: {error}") from error
    with replacing(path) as temporary:
        pq.write_table(content.replace_schema_metadata(None), temporary, compression="zstd")


def write_rows(rows: Sequence[Any], table: Table, path: Path) -> None:
    """Write rows, mappings or tuples of the table's columns, as `write` does; no row gives an empty table."""
    import pandas as pd

    write(pd.DataFrame(rows, columns=table.schema.names), table, path)


@contextmanager
def writing(table: Table, path: Path, repetitive: Sequence[str] | None = None) -> Iterator[Callable[[pa.Table], None]]:
    """Write a table piece by piece: yields a function that appends its argument as one row group.

    `path` appears, whole, when the block ends without an error. `repetitive`: the columns that are stored with a
    dictionary of their values; by default all columns are tried. Raises TableError if a piece has another schema.
    """
    schema = table.schema
    options = {"compression": "zstd", "use_dictionary": True if repetitive is None else list(repetitive)}
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema, **options) as writer:

        def append(piece: pa.Table) -> None:
            if not piece.schema.equals(schema):
                raise TableError(f"{path}: not a piece of table {table.name}: {piece.schema}")
            writer.write_table(piece, row_group_size=max(piece.num_rows, 1))

        yield append


class RowGroups:
    """A table's row groups, read one at a time: by len(), by index, and by iteration.

    Raises TableError where the file is missing, damaged or another table.
    """

    def __init__(
        self, table: Table, path: Path, columns: list[str] | None = None, repetitive: Sequence[str] = ()
    ) -> None:
        """`repetitive`: columns of strings that are read dictionary-encoded."""
        self._table, self._path, self._columns = table, path, columns
        with _named(table, path):
            _check(table, path, pq.read_schema(path))
            self._file = pq.ParquetFile(path, read_dictionary=list(repetitive))

    def __len__(self) -> int:
        return int(self._file.num_row_groups)

    @property
    def n_rows(self) -> int:
        return int(self._file.metadata.num_rows)

    def __iter__(self) -> Iterator[pa.Table]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> pa.Table:
        with _named(self._table, self._path):
            return self._file.read_row_group(number, self._columns)


_REMEDY = "delete the file and run the pipeline again, which makes it anew"


def _check(table: Table, path: Path, schema: pa.Schema) -> None:
    if not schema.equals(table.schema):
        raise TableError(f"{path}: its columns are not those of table {table.name}; {_REMEDY}")


@contextmanager
def _named(table: Table, path: Path) -> Iterator[None]:
    """Turn errors of reading into TableErrors that name the table."""
    try:
        yield
    except FileNotFoundError as error:
        raise TableError(f"{path}: table {table.name} is missing; {_REMEDY}") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: table {table.name} is damaged ({error}); {_REMEDY}") from error


def of_blocks(block_ids: Iterable[str]) -> pc.Expression:
    """A filter for `read`: only rows of these blocks."""
    return pc.field("block_id").isin(pa.array(sorted(set(block_ids)), pa.string()))


def read(
    table: Table, path: Path, columns: list[str] | None = None, filters: pc.Expression | None = None
) -> pd.DataFrame:
    """Read a table from `path`: all columns or the named ones, all rows or those that pass the filter.

    Raises TableError where the file is missing, damaged or another table.
    """
    return arrow(table, path, columns, filters).to_pandas()


def arrow(table: Table, path: Path, columns: list[str] | None = None, filters: pc.Expression | None = None) -> pa.Table:
    """The same as an Arrow table: for millions of rows of lists."""
    with _named(table, path):
        _check(table, path, pq.read_schema(path))
        return pq.read_table(path, columns=columns, filters=filters)
