"""Costs of classes of instructions on a processor: those that are shipped, and new ones by llvm-mca."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency.costs import Processor, processor
from pipeline.blocks.latency.llvm_mca import LlvmMcaError
from pipeline.config.processors import Judge
from pipeline.tables import SCHEMAS

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = Path(__file__).parent / "shipped"
CLASSES = "classes"  # the file of all classes: machine code, and the row in the table of each processor
SCHEMA = SCHEMAS["machine_instructions"].remove(0)  # of a processor's table: without machine code
_CONSTANTS = ("issue_width", "retire_width", "pools", "buffers")  # columns that describe the processor
_KEPT = SCHEMA.get_field_index("kept")
_MOST_ENTRIES = 1 << 31
_UNITS = ("units", "choices")  # columns that show which groups of units there are


def shipped_processors() -> list[str]:
    """Names of the processors whose costs are shipped."""
    return sorted(path.stem for path in SHIPPED.glob("*.parquet") if path.stem != CLASSES)


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Rows of `machine.read` as an Arrow table, without machine code.

    For some instructions of many micro-ops (`rdrand`, masked stores on znver4), llvm-mca prints a negative number of
    entries of the reorder buffer as an unsigned one. All other instructions occupy one entry for each micro-op.
    """
    entries_of_pools = [
        [
            min(micro_ops, pool) if entries > _MOST_ENTRIES else entries
            for entries, pool in zip(row, pools, strict=False)
        ]
        for row, pools, micro_ops in zip(frame.kept, frame.pools, frame.micro_ops, strict=True)
    ]
    schema = SCHEMA.remove(_KEPT)
    table = pa.Table.from_pandas(frame[schema.names], schema, preserve_index=False).replace_schema_metadata(None)
    return table.add_column(_KEPT, SCHEMA.field(_KEPT), pa.array(entries_of_pools, SCHEMA.field(_KEPT).type))


class ClassTable:
    """The distinct costs of classes on a processor, one row each, and which class has which row."""

    def __init__(self, name: str, binary: str | None = None) -> None:
        """name: one of `shipped_processors`; binary: llvm-mca, None to do without it.

        Raises ValueError for another name.
        """
        if name not in shipped_processors():
            raise ValueError(f"no processor is named {name!r}; there are {', '.join(shipped_processors())}")
        self._name, self._binary = name, binary
        shipped: pa.Table = pq.read_table(SHIPPED / f"{name}.parquet", schema=SCHEMA)
        self._not_shipped = len(shipped)  # the row of all classes that are not, without llvm-mca
        self._table = pa.concat_tables([shipped, _unsupported(shipped)])
        classes = pq.read_table(SHIPPED / f"{CLASSES}.parquet", columns=["code", name])
        self._rows: dict[bytes, int] = dict(zip(classes["code"].to_pylist(), classes[name].to_pylist(), strict=True))
        self.costs: Processor = processor(self._table)

    def rows(self, codes: Sequence[bytes]) -> list[int]:
        """The row of `costs` of each class. llvm-mca is asked once for all that are new; `costs` is another one then.

        Without llvm-mca, new classes are unsupported. Raises LlvmMcaError if llvm-mca fails.
        """
        new_codes = list(dict.fromkeys(code for code in codes if code not in self._rows))
        if new_codes and self._binary is not None:
            described = self._described(new_codes)
            self._rows |= {code: len(self._table) + k for k, code in enumerate(new_codes)}
            self._table = pa.concat_tables([self._table, described]).combine_chunks()
            self.costs = processor(self._table)
        return [self._rows.get(code, self._not_shipped) for code in codes]

    def reason(self, code: bytes) -> str:
        """Why a class is unsupported; empty if it is supported. Raises LlvmMcaError if llvm-mca fails."""
        [row] = self.rows([code])
        if self.costs.is_supported[row]:
            return ""
        if row == self._not_shipped:
            return f"its costs are not shipped; llvm-mca {llvm_mca.VERSION} measures them: {llvm_mca.INSTALL} (as root)"
        return self._table["message"][row].as_py() or f"the model of {self._name} has too few units for it"

    def _described(self, codes: Sequence[bytes]) -> pa.Table:
        """Rows of new classes by llvm-mca, measured beside others that show which groups of units there are."""
        from pipeline.blocks.latency import machine  # it takes time to import, and is needed here alone

        assert self._binary is not None
        judge = Judge(cpu=self._name, iterations=1)
        with redirect_stderr(StringIO()):  # progress bars
            frame = machine.read([*codes, *self.witnesses()], self._name, judge, self._binary)
        described = table_of(frame).slice(0, len(codes))
        shown, expected = (part.select(_CONSTANTS).slice(0, 1).to_pylist() for part in (described, self._table))
        if shown != expected:
            raise LlvmMcaError(
                f"{self._binary} describes {self._name} as {shown}, the shipped costs as {expected}; "
                f"install LLVM {llvm_mca.VERSION}: {llvm_mca.INSTALL}"
            )
        return described

    def witnesses(self) -> list[bytes]:
        """A class for each choice of units that a class has: measured beside others, they show the groups of units."""
        columns = self._table.select(_UNITS).to_pylist()
        witnesses: dict[str, bytes] = {}
        for code, row in self._rows.items():
            if self.costs.is_supported[row]:
                witnesses.setdefault(repr(columns[row]), code)
        return list(witnesses.values())


def _unsupported(table: pa.Table) -> pa.Table:
    """A row without costs of the same processor."""
    row = table.select([*_CONSTANTS, "machine"]).slice(0, 1).to_pylist()[0] | {"status": "unsupported", "message": ""}
    zeros = {field.name: _zero(field.type) for field in SCHEMA}
    return pa.Table.from_pylist([zeros | row], SCHEMA)


def _zero(kind: pa.DataType) -> object:
    if pa.types.is_list(kind):
        return []
    return "" if pa.types.is_string(kind) else 0
