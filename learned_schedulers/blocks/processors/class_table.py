"""Costs of classes of instructions on a processor: those that are shipped, and new ones by llvm-mca.

The shipped files are arrays that NumPy reads, so that `order` needs neither Arrow nor pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.processors.costs import PER_INSTRUCTION, Processor, joined, processor
from learned_schedulers.blocks.processors.llvm_mca import LlvmMcaError
from learned_schedulers.blocks.processors.prefixes import on_older
from learned_schedulers.blocks.processors.renaming import RegisterWords
from learned_schedulers.blocks.processors.settings import Judge

if TYPE_CHECKING:  # slow to import
    import pandas as pd
    import pyarrow as pa

SHIPPED = Path(__file__).parent / "shipped"
CLASSES = "classes"  # the file of all classes: machine code, and the row in the table of each processor
_EXTRA = "pip install 'learned-schedulers[pipeline]'"
_END = b"\1"  # behind the machine code of a class, because NumPy's strings of bytes lose zeros at their ends
_LONGEST = 15  # bytes of an instruction
_CONSTANTS = ("issue_width", "retire_width", "pools", "buffers")  # what describes the processor
_MOST_ENTRIES = 1 << 31


def shipped_processors() -> list[str]:
    """Names of the processors whose costs are shipped."""
    return sorted(path.stem for path in SHIPPED.glob("*.npz") if path.stem != CLASSES)


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Rows of `machine.read` as an Arrow table, without machine code.

    For some instructions of many micro-ops (`rdrand`, masked stores on znver4), llvm-mca prints a negative number of
    entries of the reorder buffer as an unsigned one. All other instructions occupy one entry for each micro-op.
    """
    import pyarrow as pa

    entries_of_pools = [
        [
            min(micro_ops, pool) if entries > _MOST_ENTRIES else entries
            for entries, pool in zip(row, pools, strict=False)
        ]
        for row, pools, micro_ops in zip(frame.kept, frame.pools, frame.micro_ops, strict=True)
    ]
    from learned_schedulers.blocks.processors.columns import MACHINE_INSTRUCTIONS

    with_code = MACHINE_INSTRUCTIONS.remove(0)
    place = with_code.get_field_index("kept")
    schema = with_code.remove(place)
    table = pa.Table.from_pandas(frame[schema.names], schema, preserve_index=False).replace_schema_metadata(None)
    column = with_code.field(place)
    return table.add_column(place, column, pa.array(entries_of_pools, column.type))


def write_costs(path: Path, costs: Processor, messages: Sequence[str]) -> None:
    """Write the distinct costs of a processor, (U,) rows, each with the reason why it is unsupported, or nothing."""
    arrays = {name: getattr(costs, name) for name in (*_CONSTANTS, "groups", *PER_INSTRUCTION)}
    _write(path, arrays | costs.registers._asdict() | {"message": np.array(messages, np.str_)})


def write_classes(path: Path, codes: Sequence[bytes], rows: dict[str, np.ndarray]) -> None:
    """Write the machine code of all classes, and for each processor the row of its costs, (len(codes),) each."""
    keys = _keys(codes)
    ascending = np.argsort(keys)
    _write(path, {"code": keys[ascending]} | {name: row[ascending] for name, row in rows.items()})


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    from learned_schedulers.files import replacing

    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _read(path: Path) -> tuple[Processor, list[str]]:
    with np.load(path, allow_pickle=False) as stored:
        arrays: dict[str, Any] = dict(stored)
    messages = arrays.pop("message").tolist()
    registers = RegisterWords(*(arrays.pop(name) for name in RegisterWords._fields))
    arrays |= {name: int(arrays[name]) for name in ("issue_width", "retire_width")}
    return Processor(registers=registers, **arrays), messages


def _keys(codes: Iterable[bytes]) -> np.ndarray:
    return np.array([code + _END for code in codes], f"S{_LONGEST + len(_END)}")


class ClassTable:
    """The distinct costs of classes on a processor, one row each, and which class has which row."""

    def __init__(self, name: str, binary: str | None = None) -> None:
        """name: one of `shipped_processors`; binary: llvm-mca, None to do without it.

        Raises ValueError for another name.
        """
        if name not in shipped_processors():
            raise ValueError(f"no processor is named {name!r}; there are {', '.join(shipped_processors())}")
        self._name, self._binary = name, binary
        self.costs, self._messages = _read(SHIPPED / f"{name}.npz")
        self._not_shipped = len(self._messages)  # the row of all classes that are not, without llvm-mca
        self.costs = joined(self.costs, _unsupported(self.costs))
        self._messages.append("")
        with np.load(SHIPPED / f"{CLASSES}.npz", allow_pickle=False) as stored:
            self._codes, self._code_rows = stored["code"], stored[name]
        self._new_rows: dict[bytes, int] = {}  # of classes that llvm-mca described

    def rows(self, codes: Sequence[bytes]) -> list[int]:
        """The row of `costs` of each class. llvm-mca is asked once for all that are new; `costs` is another one then.

        A processor without `tzcnt` has the costs of `bsf` for it, which it executes. Without llvm-mca, new classes are
        unsupported. Raises LlvmMcaError if llvm-mca fails.
        """
        rows = self._rows(codes)
        new_codes = list(dict.fromkeys(code for code, row in zip(codes, rows, strict=True) if row < 0))
        if new_codes and self._binary is not None and _reads_answers():
            described, messages = self._described(new_codes)
            self._new_rows |= {code: len(self._messages) + k for k, code in enumerate(new_codes)}
            self._messages += messages
            self.costs = joined(self.costs, described)
            rows = self._rows(codes)
        rows = [self._not_shipped if row < 0 else row for row in rows]
        unknown = [k for k, row in enumerate(rows) if not self.costs.is_supported[row]]
        for k, other in zip(unknown, self._rows([on_older(codes[k]) for k in unknown]), strict=True):
            if other >= 0 and self.costs.is_supported[other]:
                rows[k] = other
        return rows

    def _rows(self, codes: Sequence[bytes]) -> list[int]:
        """The row of each class that has one, -1 of the others."""
        keys = _keys(code if len(code) <= _LONGEST else b"" for code in codes)
        places = np.minimum(np.searchsorted(self._codes, keys), len(self._codes) - 1)
        shipped = np.where(self._codes[places] == keys, self._code_rows[places], -1).tolist()
        return [self._new_rows.get(code, row) for code, row in zip(codes, shipped, strict=True)]

    def reason(self, code: bytes) -> str:
        """Why a class is unsupported; empty if it is supported. Raises LlvmMcaError if llvm-mca fails."""
        [row] = self.rows([code])
        if self.costs.is_supported[row]:
            return ""
        if row == self._not_shipped:
            return f"its costs are not shipped: {self.missing(code)}"
        return self._messages[row] or f"the model of {self._name} has too few units for it"

    def missing(self, code: bytes) -> str:
        """What to install so that llvm-mca measures a class; empty if that would change nothing."""
        if (self._binary is not None and _reads_answers()) or self._rows([code])[0] >= 0:
            return ""
        if self._binary is not None:
            return f"install pandas and pyarrow, which read what llvm-mca measures ({_EXTRA})"
        return f"install llvm-mca {llvm_mca.VERSION}, which measures them ({llvm_mca.INSTALL}, as root)"

    def _described(self, codes: Sequence[bytes]) -> tuple[Processor, list[str]]:
        """Rows of new classes by llvm-mca, measured beside others that show which groups of units there are."""
        from learned_schedulers.blocks.processors import machine  # it takes time to import, and is needed here alone

        assert self._binary is not None
        judge = Judge(cpu=self._name, iterations=1)
        with redirect_stderr(StringIO()):  # progress bars
            frame = machine.read([*codes, *self.witnesses()], self._name, judge, self._binary)
        table = table_of(frame).slice(0, len(codes))
        described = processor(table)
        shown, expected = (
            {name: np.array(getattr(costs, name)).tolist() for name in _CONSTANTS} for costs in (described, self.costs)
        )
        if shown != expected:
            raise LlvmMcaError(
                f"{self._binary} describes {self._name} as {shown}, the shipped costs as {expected}; "
                f"install LLVM {llvm_mca.VERSION}: {llvm_mca.INSTALL}"
            )
        return described, table["message"].to_pylist()

    def witnesses(self) -> list[bytes]:
        """A class for each choice of units that a class has: measured beside others, they show the groups of units."""
        shipped = ((key[: -len(_END)], row) for key, row in zip(self._codes.tolist(), self._code_rows, strict=True))
        witnesses: dict[bytes, bytes] = {}
        for code, row in chain(sorted(shipped), self._new_rows.items()):
            if self.costs.is_supported[row]:
                units = (self.costs.unit_cycles[row] > 0).tobytes() + self.costs.choices[row].tobytes()
                witnesses.setdefault(units, code)
        return list(witnesses.values())


def _reads_answers() -> bool:
    """Whether what llvm-mca describes can be read here; the light installation lacks the packages."""
    return all(find_spec(name) is not None for name in ("pandas", "pyarrow"))


def _unsupported(costs: Processor) -> Processor:
    """A row without costs of the same processor."""
    row = costs.restricted_to(np.array([0]))
    zeros = {name: np.zeros_like(getattr(row, name)) for name in PER_INSTRUCTION}
    zeros["choices"] -= 1
    return Processor(
        **{name: getattr(costs, name) for name in (*_CONSTANTS, "groups")},
        **zeros,
        registers=RegisterWords(*map(np.zeros_like, row.registers)),
    )
